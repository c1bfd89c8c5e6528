"""A published definition of an algorithm's name: the options that it decides, and what it asks of hyper-parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fedspec.contract import Level


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A relation between hyper-parameters that a reading asks for."""

    id: str
    words: str
    about: tuple[str, ...]
    holds: Callable[[Mapping[str, Any]], bool]


def v0_at_least_tau_squared(algorithm: str) -> Requirement:
    """The relation that Reddi et al. (2021) ask of an adaptive server."""
    return Requirement(
        id=f"{algorithm}.v0",
        words="v_0 >= tau^2",
        about=("v0", "tau"),
        holds=lambda h: h["v0"] >= h["tau"] * h["tau"],
    )


def above_zero(algorithm: str, name: str) -> Requirement:
    """That a hyper-parameter which may be 0 elsewhere is not."""
    return Requirement(id=f"{algorithm}.{name}", words=f"{name} > 0", about=(name,), holds=lambda h: h[name] > 0)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A published definition of an algorithm's name.

    Attributes:
        name: what a subject claims.
        words: the definition in words, with its source.
        fixes: the options it decides; the others are left to the subject to declare.
        requires: relations between hyper-parameters that it asks for.
        levels: where it can be judged; empty: wherever the algorithm can.
    """

    name: str
    words: str
    fixes: Mapping[str, str] = field(default_factory=dict)
    requires: tuple[Requirement, ...] = ()
    levels: tuple[Level, ...] = ()
