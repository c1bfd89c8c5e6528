"""Hyper-parameters of FedNova's forms, drawn for every solver at once."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from fedspec.hyper import Hyper, plays_part

H = TypeVar("H", bound=Hyper)


def played(kind: type[H], **given: Any) -> H:
    """The record of what plays a part under the options that are given; the rest is left out."""
    options = {f.name: str(given.get(f.name, f.default)) for f in fields(kind)}
    return kind(**{n: v for n, v in given.items() if plays_part(kind.plays, n, options)})
