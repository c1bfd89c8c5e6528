"""Variables of any kind: a statement written once over named variables runs on symbols, z3 reals and fractions.

A body asks its :class:`Draw` for every variable that it speaks about, by name, so that the proof for all values and
the check at single ones run the same lines, through the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from fedspec_proofs.engines import exact


class Draw(Protocol):
    """The source of a body's variables."""

    def __call__(self, name: str, *shape: int, positive: bool = False) -> Any:
        """A variable, or an array of variables of the given shape; twice the same for the same name."""
        ...


def names(name: str, shape: tuple[int, ...]) -> list[tuple[tuple[int, ...], str]]:
    """The places of an array and the names of its variables: name_0, name_1, ...; the name itself without a shape."""
    return [(place, "_".join((name, *map(str, place)))) for place in np.ndindex(*shape)]


def filled(name: str, shape: tuple[int, ...], make: Any) -> Any:
    """An array of what ``make`` gives for each name; the thing itself without a shape."""
    if not shape:
        return make(name)
    out = np.empty(shape, dtype=object)
    for place, one in names(name, shape):
        out[place] = make(one)
    return out


class Rationals:
    """Random small rationals, the same for the same name.

    Attributes:
        values: drawn values, by the name of the single variable.
    """

    def __init__(self, rng: np.random.Generator, known: Mapping[str, Fraction] | None = None) -> None:
        self.rng = rng
        self.values: dict[str, Fraction] = dict(known or {})

    def __call__(self, name: str, *shape: int, positive: bool = False) -> Any:
        """A rational or an array of rationals."""

        def make(one: str) -> Any:
            if one not in self.values:
                self.values[one] = self.drawn(positive)
            return self.shown(self.values[one])

        return filled(name, shape, make)

    def drawn(self, positive: bool) -> Fraction:
        """A rational of [-8, 8], or of (0, 8] where it must be positive, with a denominator of at most 6."""
        low = 1 if positive else -8
        return Fraction(exact.rationals(self.rng, 1, low=low, denominators=(1, 2, 3, 4, 5, 6))[0])

    def shown(self, value: Fraction) -> Any:
        """The rational as bodies get it."""
        return value


class At:
    """The values of a counterexample; what it does not mention is 0 (1 where it must be positive)."""

    def __init__(self, values: Mapping[str, Fraction]) -> None:
        self.values = values

    def __call__(self, name: str, *shape: int, positive: bool = False) -> Any:
        """The value, or the array of values."""
        return filled(name, shape, lambda one: self.values.get(one, Fraction(int(positive))))
