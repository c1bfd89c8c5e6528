"""Hyper-parameters and readings of an algorithm as one frozen record, checked when it is made."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache

from fedspec.domains import DOMAINS, require
from fedspec.readings import choice


@cache
def _types(cls: typing.Any) -> dict[str, typing.Any]:
    return typing.get_type_hints(cls)


@dataclass(frozen=True)
class Hyper:
    """Base of the records: numbers must lie in the domain of their name, readings may be given as strings."""

    def __post_init__(self) -> None:
        cls: typing.Any = type(self)
        for f in fields(self):
            kind = _types(cls)[f.name]
            if isinstance(kind, type) and issubclass(kind, StrEnum):
                object.__setattr__(self, f.name, choice(kind, f.name, getattr(self, f.name)))
            elif f.name in DOMAINS:
                require(f.name, getattr(self, f.name))

    def of(self, rule: Callable[..., typing.Any]) -> dict[str, typing.Any]:
        """The keyword arguments of a rule that this record holds under the same names."""
        return {n: getattr(self, n) for n in _keywords(rule) if hasattr(self, n)}


@cache
def _keywords(rule: Callable[..., typing.Any]) -> tuple[str, ...]:
    parameters = inspect.signature(rule).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
