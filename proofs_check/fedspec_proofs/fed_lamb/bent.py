"""Objectives whose derivative is a bent line: bounded gradients, smooth, and every constant of theirs an exact number.

A quadratic has no bounded gradient on the whole line; x^2/2 that goes on as a line beyond |x| = 1 has, and inside it is
the same. Sums of such functions of single coordinates are smooth in every reading of the paper's first assumption.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

from fedspec.arith import Array, Vector, norm
from fedspec.plan import Oracle


@dataclass(frozen=True)
class Bent:
    """A function on the line with f'(at[k]) = slopes[k], linear between and constant beyond.

    Attributes:
        at: where the derivative bends, in increasing order.
        slopes: the derivative there.
    """

    at: tuple[Any, ...]
    slopes: tuple[Any, ...]

    def gradient(self, x: Any) -> Any:
        """f'(x)."""
        if x <= self.at[0]:
            return self.slopes[0]
        for (a, g), (b, h) in pairwise(zip(self.at, self.slopes, strict=True)):
            if x <= b:
                return g + (h - g) * (x - a) / (b - a)
        return self.slopes[-1]

    def value(self, x: Any) -> Any:
        """f(x) - f(at[0]): the area under the derivative, which is a sum of trapezoids."""
        if x <= self.at[0]:
            return self.slopes[0] * (x - self.at[0])
        total, corners = self.slopes[0] * 0, [*(a for a in self.at if a < x), x]
        for a, b in pairwise(corners):
            total = total + (self.gradient(a) + self.gradient(b)) * (b - a) / 2
        return total

    @property
    def smoothness(self) -> Any:
        """The Lipschitz constant of the derivative: its steepest piece."""
        pieces = pairwise(zip(self.at, self.slopes, strict=True))
        return max((abs((h - g) / (b - a)) for (a, g), (b, h) in pieces), default=0)

    @property
    def largest(self) -> Any:
        """The least upper bound of |f'|."""
        return max(map(abs, self.slopes))

    @property
    def least(self) -> Any:
        """The minimum of f - f(at[0]), which is where the derivative vanishes.

        Raises:
            ValueError: f is not bounded below.
        """
        if self.slopes[0] > 0 or self.slopes[-1] < 0:
            raise ValueError(
                f"least: slopes {self.slopes[0]} and {self.slopes[-1]} at the ends; f is not bounded below"
            )
        flat = [a for a, g in zip(self.at, self.slopes, strict=True) if g == 0]
        for (a, g), (b, h) in pairwise(zip(self.at, self.slopes, strict=True)):
            if g * h < 0:
                flat.append(a - g * (b - a) / (h - g))
        return min(map(self.value, flat))


def huber(c: Any, at: Any = 0, reach: Any = 1) -> Bent:
    """c (x - at)^2 / 2 as far as ``reach`` from its minimum, then straight."""
    return Bent((at - reach, at + reach), (-c * reach, c * reach))


def average(functions: Sequence[Bent]) -> Bent:
    """The mean of such functions, which is one again."""
    at = tuple(sorted({a for f in functions for a in f.at}))
    return Bent(at, tuple(sum(f.gradient(a) for f in functions) / len(functions) for a in at))


def vector(values: Iterable[Any]) -> Vector:
    """Numbers as a vector: of objects if they are exact, of floats if they are floats."""
    listed = list(values)
    if any(isinstance(v, float) for v in listed):
        return np.array(listed, dtype=float)
    out = np.empty(len(listed), dtype=object)
    out[:] = listed
    return out


@dataclass(frozen=True)
class Problem:
    """Clients whose objectives are sums of such functions, one for each coordinate.

    Attributes:
        parts: part j of client i's objective at [i][j].
        sizes: how many coordinates each layer has.
    """

    parts: tuple[tuple[Bent, ...], ...]
    sizes: tuple[int, ...]

    @property
    def layers(self) -> tuple[slice, ...]:
        """Where each layer lies."""
        ends = np.cumsum((0, *self.sizes)).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))

    @property
    def whole(self) -> tuple[Bent, ...]:
        """The parts of f, the mean over clients."""
        return tuple(average(column) for column in zip(*self.parts, strict=True))

    @property
    def clients(self) -> tuple[Oracle, ...]:
        """The gradient of every client."""
        return tuple(lambda k, x, row=row: along(row, x) for row in self.parts)

    def gradient(self, x: Vector) -> Vector:
        """The gradient of f."""
        return along(self.whole, x)

    def value(self, x: Vector) -> Any:
        """f(x), up to the same constant everywhere."""
        return sum(f.value(a) for f, a in zip(self.whole, x, strict=True))

    @property
    def least(self) -> Any:
        """min f, up to the same constant."""
        return sum(f.least for f in self.whole)

    @property
    def smoothness(self) -> tuple[Any, ...]:
        """L_l for f: f(y) <= f(x) + <f'(x), y - x> + sum of L_l / 2 ||y^l - x^l||^2."""
        return tuple(max(f.smoothness for f in self.whole[at]) for at in self.layers)

    @property
    def lipschitz(self) -> tuple[Any, ...]:
        """Lam_l: no client's gradient changes faster within layer l."""
        return tuple(max(f.smoothness for row in self.parts for f in row[at]) for at in self.layers)

    @property
    def largest_squared(self) -> Any:
        """A bound of ||f_i'||^2 for every client, everywhere."""
        return max(sum(f.largest**2 for f in row) for row in self.parts)

    def heterogeneity(self) -> Any:
        """zeta, the largest of 1/n sum_i sum_l ||f_i'(x)^l - f'(x)^l|| over all x.

        Each difference is linear between the bends, so the mean of lengths is convex there and largest at a corner.
        """
        total: Any = 0
        whole = self.whole
        for at in self.layers:
            corners = product(*(f.at for f in whole[at]))
            total += max(
                sum(norm(along(row[at], vector(x)) - along(whole[at], vector(x))) for row in self.parts)
                for x in corners
            ) / len(self.parts)
        return total


def along(parts: Sequence[Bent], x: Array) -> Vector:
    """The derivative of each part at its coordinate."""
    return vector(f.gradient(a) for f, a in zip(parts, x, strict=True))
