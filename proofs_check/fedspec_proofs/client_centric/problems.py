"""Clients with known constants: every coordinate's gradient is piecewise linear and constant far out.

Such clients are smooth and have bounded gradients everywhere, they may be non-convex, and every constant that the
paper's assumptions speak about is a maximum over the kinks: exact in fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.plan import Oracle
from fedspec_proofs.engines.enclosure import sqrt_above

Knot = tuple[Any, Any]


@dataclass(frozen=True)
class Slope:
    """A derivative on the line, linear between its knots (x, y), constant outside of them."""

    knots: tuple[Knot, ...]

    def __call__(self, x: Any) -> Any:
        """The derivative at x."""
        if x <= self.knots[0][0]:
            return self.knots[0][1]
        for (a, p), (b, q) in pairwise(self.knots):
            if x <= b:
                return p + (q - p) / (b - a) * (x - a)
        return self.knots[-1][1]

    @property
    def smoothness(self) -> Fraction:
        """The steepest piece: the Lipschitz constant of the derivative."""
        return max((abs(Fraction(q - p, b - a)) for (a, p), (b, q) in pairwise(self.knots)), default=Fraction(0))

    @property
    def bound(self) -> Fraction:
        """The largest absolute value."""
        return Fraction(max(abs(y) for _, y in self.knots))

    def rounded(self) -> Slope:
        """The same in floating point."""
        return Slope(tuple((float(x), float(y)) for x, y in self.knots))


def huber(c: Any, bound: Any, h: Any = 1) -> Slope:
    """The derivative of h (x - c)^2 / 2 where it is at most ``bound``, cut off beyond."""
    bound, reach = Fraction(bound), Fraction(bound) / Fraction(h)
    return Slope(((c - reach, -bound), (c + reach, bound)))


def flat(y: Any) -> Slope:
    """The derivative of x y: y everywhere."""
    return Slope(((Fraction(0), Fraction(y)),))


@dataclass(frozen=True)
class Clients:
    """n clients in d dimensions, the sums of functions of one coordinate, with additive noise in their gradients.

    Attributes:
        slopes: for every client the derivative along every coordinate.
        nu: the noise: nu (1, ..., 1) or its negative, each with probability 1/2, anew at every local step.
    """

    slopes: tuple[tuple[Slope, ...], ...]
    nu: Fraction = Fraction(0)

    @property
    def n(self) -> int:
        """How many clients there are."""
        return len(self.slopes)

    @property
    def d(self) -> int:
        """The dimension."""
        return len(self.slopes[0])

    @property
    def smoothness(self) -> Fraction:
        """L of assumption 1: gradients are separable, so the steepest coordinate decides."""
        return max(s.smoothness for one in self.slopes for s in one)

    @property
    def bound(self) -> Fraction:
        """G of assumption 2, noise included; the supremum, rounded up to a multiple of 1/1000."""
        squares = max(sum(((s.bound + self.nu) ** 2 for s in one), Fraction(0)) for one in self.slopes)
        return Fraction(ceil(1000 * sqrt_above(squares)), 1000)

    @property
    def local_variance(self) -> Fraction:
        """sigma_l^2 of assumption 3."""
        return self.d * self.nu**2

    def _points(self, j: int) -> list[Fraction]:
        return sorted({Fraction(x) for one in self.slopes for x, _ in one[j].knots})

    def deviations(self, x: Vector) -> list[Any]:
        """The squared distance of every client's gradient at x from their mean."""
        g = np.array([[s(x_j) for s, x_j in zip(one, x, strict=True)] for one in self.slopes], dtype=object)
        apart = g - g.sum(axis=0) / self.n
        return [row @ row for row in apart]

    @property
    def per_client_variance(self) -> Fraction:
        """The least sigma_g^2 that bounds every client's deviation everywhere."""
        return self._worst(max)

    @property
    def global_variance(self) -> Fraction:
        """sigma_g^2 of assumption 4: the supremum of the mean squared deviation.

        The deviations are linear between kinks and constant outside, so their squares are largest at kinks; the
        coordinates do not know of each other, so the suprema add up.
        """
        return self._worst(lambda deviations: Fraction(sum(deviations), len(deviations)))

    def _worst(self, of: Any) -> Fraction:
        total = Fraction(0)
        for j in range(self.d):
            column = Clients(tuple((one[j],) for one in self.slopes))
            total += max(of(column.deviations(np.array([x], dtype=object))) for x in self._points(j))
        return total

    def gradient(self, x: Vector) -> Vector:
        """The gradient of f, the mean of the f_i."""
        rows = [[s(x_j) for s, x_j in zip(one, x, strict=True)] for one in self.slopes]
        out: Vector = np.array(rows, dtype=x.dtype).sum(axis=0) / self.n
        return out

    def oracle(self, i: int, noise: Sequence[int] = ()) -> Oracle:
        """The gradients that client i sees, with the sign of the noise for every local step."""

        def gradient(k: int, x: Vector) -> Vector:
            exact = [s(x_j) for s, x_j in zip(self.slopes[i], x, strict=True)]
            return np.array([g + self.nu * noise[k] if noise else g for g in exact], dtype=x.dtype)

        return gradient

    @property
    def bounded_below(self) -> bool:
        """Whether f has a minimum."""
        ends = [(self._points(j)[0] - 1, self._points(j)[-1] + 1) for j in range(self.d)]
        left, right = (self.gradient(np.array([e[k] for e in ends], dtype=object)) for k in (0, 1))
        return all(g <= 0 for g in left) and all(g >= 0 for g in right)

    def gap(self, x: Vector) -> Fraction:
        """f(x) - f*, where f has a minimum: along each coordinate the largest integral of f' up to x."""
        return sum((self._gap(j, Fraction(x[j])) for j in range(self.d)), Fraction(0))

    def _gap(self, j: int, x: Fraction) -> Fraction:
        def df(y: Fraction) -> Fraction:
            return Fraction(sum(one[j](y) for one in self.slopes), self.n)

        points = sorted({*self._points(j), x})
        zeros = [a - df(a) * (b - a) / (df(b) - df(a)) for a, b in pairwise(points) if df(a) * df(b) < 0]
        points = sorted({*points, *zeros})
        heights = {points[0]: Fraction(0)}
        for a, b in pairwise(points):
            heights[b] = heights[a] + (b - a) * (df(a) + df(b)) / 2
        return heights[x] - min(heights.values())

    def rounded(self) -> Clients:
        """The same in floating point."""
        return Clients(tuple(tuple(s.rounded() for s in one) for one in self.slopes), float(self.nu))  # type: ignore[arg-type]
