"""Instances made from a list of integers below given limits, so that they can be drawn, varied, replayed and shrunk.

The same function makes an instance from random numbers, from a changed list of earlier choices, and from Hypothesis,
which shrinks towards the first option of every choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from fedspec.arith import Array, Vector
from fedspec_proofs.engines import exact

T = TypeVar("T")

Pick = Callable[[int], int]
"""Function that returns a whole number from 0 to n - 1."""


class Choose:
    """Builds the parts of a random instance from integer choices."""

    def __init__(self, pick: Pick) -> None:
        self._pick = pick

    def of(self, *options: T) -> T:
        """Choose one of the options; the first is the simplest."""
        return options[self._pick(len(options))]

    def whole(self, low: int, high: int) -> int:
        """Choose a whole number of [low, high]; low is the simplest."""
        return low + self._pick(high - low + 1)

    def rational(self, low: int, high: int, denominator: int = 8) -> Fraction:
        """Choose a multiple of 1/denominator in [low, high]; the simplest is the multiple nearest to zero."""
        steps = range(low * denominator, high * denominator + 1)
        start = min(steps, key=lambda k: (abs(k), -k))
        k = self._pick(len(steps))
        # 0, 1, -1, 2, -2, ... while both ends allow it, then on to the farther end.
        up, down = steps[-1] - start, start - steps[0]
        both = 2 * min(up, down)
        if k <= both:
            offset = (k + 1) // 2 if k % 2 else -(k // 2)
        else:
            offset = (k - min(up, down)) if up > down else -(k - min(up, down))
        return Fraction(start + offset, denominator)

    def power(self, low: int, high: int) -> Fraction:
        """Choose a power of ten with exponent in [low, high]; the simplest has its exponent nearest to 0."""
        return Fraction(10) ** int(self.rational(low, high, 1))

    def vector(self, d: int, low: int, high: int, denominator: int = 8) -> Vector:
        """Choose a vector of d rationals."""
        return exact.vector(*(self.rational(low, high, denominator) for _ in range(d)))

    def array(self, *shape: int, low: int, high: int, denominator: int = 8) -> Array:
        """Choose an array of rationals of the given shape."""
        flat = [self.rational(low, high, denominator) for _ in range(int(np.prod(shape)))]
        return exact.vector(*flat).reshape(shape)

    def simplex(self, n: int) -> Vector:
        """Choose n positive weights that sum to one; equal weights are the simplest."""
        sizes = [1 + self._pick(8) for _ in range(n)]
        return exact.vector(*(Fraction(s, sum(sizes)) for s in sizes))


class Tape:
    """Recorded choices: replays earlier choices as far as they fit the limits and draws the remaining ones."""

    def __init__(self, rng: np.random.Generator, earlier: Sequence[int] = ()) -> None:
        self.rng, self.earlier = rng, earlier
        self.made: list[int] = []
        self.limits: list[int] = []

    def __call__(self, n: int) -> int:
        """Return a whole number from 0 to n - 1, replayed or drawn."""
        place = len(self.made)
        fits = place < len(self.earlier) and self.earlier[place] < n
        value = self.earlier[place] if fits else int(self.rng.integers(n))
        self.made.append(value)
        self.limits.append(n)
        return value

    def varied(self) -> list[int]:
        """Copy the choices with one or two of them changed, by a small step or drawn again."""
        out = list(self.made)
        places = [k for k, n in enumerate(self.limits) if n > 1]
        if not places:
            return out
        for _ in range(1 + int(self.rng.integers(3)) // 2):
            k = int(self.rng.choice(places))
            n = self.limits[k]
            near = int(self.rng.integers(2))
            out[k] = (out[k] + int(self.rng.choice((-2, -1, 1, 2)))) % n if near else int(self.rng.integers(n))
        return out
