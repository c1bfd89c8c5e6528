"""Variables by name: a statement written once over them runs on symbols, z3 reals and fractions.

A body asks its :class:`Draw` for every variable that it speaks about, by name, so that the proof for all values and
the check at single ones run the same lines, through the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import wraps
from types import SimpleNamespace
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np

from fedspec_proofs.engines import exact

P = ParamSpec("P")
X = TypeVar("X")
Y = TypeVar("Y")


class Draw(Protocol):
    """Supplies the variables of a statement by name."""

    def __call__(self, name: str, *shape: int, positive: bool = False) -> Any:
        """Return a variable, or an array of variables of the given shape; the same name gives the same variable."""
        ...


def curried(body: Callable[Concatenate[X, P], Y]) -> Callable[P, Callable[[X], Y]]:
    """Decorator that takes the first argument last: ``body(draw, t, z)`` becomes ``body(t, z)(draw)``.

    So a statement at sizes is written like one without: for example, ``identities({"t = 2": body(2, z=1)})``.
    """

    @wraps(body)
    def at(*args: P.args, **named: P.kwargs) -> Callable[[X], Y]:
        return lambda first: body(first, *args, **named)

    return at


def several(draw: Draw, names: str, *, positive: bool = False) -> list[Any]:
    """Variables with these names, such as ``"a, b"``."""
    return [draw(name, positive=positive) for name in names.split(", ")]


def record(draw: Draw, names: str) -> Any:
    """Positive variables with these names, such as ``"a b"``, as attributes of one value."""
    return SimpleNamespace(**{name: draw(name, positive=True) for name in names.split()})


def names(name: str, shape: tuple[int, ...]) -> list[tuple[tuple[int, ...], str]]:
    """Indices of an array and the names of its variables: name_0, name_1, ...; the bare name if the shape is empty."""
    return [(place, "_".join((name, *map(str, place)))) for place in np.ndindex(*shape)]


def filled(name: str, shape: tuple[int, ...], make: Any) -> Any:
    """Array of ``make(name)`` for each variable's name; for an empty shape, ``make(name)`` itself."""
    if not shape:
        return make(name)
    return exact.objects(make(one) for _, one in names(name, shape)).reshape(shape)


class Rationals:
    """Random small rationals; the same name gives the same number.

    Attributes:
        values: drawn values, by the name of the variable.
    """

    def __init__(self, rng: np.random.Generator, known: Mapping[str, Fraction] | None = None) -> None:
        self.rng = rng
        self.values: dict[str, Fraction] = dict(known or {})
        self.positive: dict[str, bool] = {}

    def __call__(self, name: str, *shape: int, positive: bool = False) -> Any:
        """Return a rational, or an array of rationals of the given shape.

        Raises:
            ValueError: the name was positive before and is not now, or the other way round: it names two variables.
        """

        def make(one: str) -> Any:
            if self.positive.setdefault(one, positive) is not positive:
                raise ValueError(f"draw: {one} names a positive variable and one that may be negative; rename one")
            if one not in self.values:
                self.values[one] = self.drawn(positive)
            return self.shown(self.values[one])

        return filled(name, shape, make)

    def drawn(self, positive: bool) -> Fraction:
        """Draw a rational of [-8, 8], or of (0, 8] if it must be positive, with a denominator of at most 6."""
        low = 1 if positive else -8
        return Fraction(exact.rationals(self.rng, 1, low=low, denominators=(1, 2, 3, 4, 5, 6))[0])

    def shown(self, value: Fraction) -> Any:
        """Return the rational as statements receive it; subclasses may convert it."""
        return value


class At:
    """Values of a counterexample; a variable without a value is 0, or 1 if it must be positive."""

    def __init__(self, values: Mapping[str, Fraction]) -> None:
        self.values = values

    def __call__(self, name: str, *shape: int, positive: bool = False) -> Any:
        """Return the value, or an array of values of the given shape."""
        return filled(name, shape, lambda one: self.values.get(one, Fraction(int(positive))))
