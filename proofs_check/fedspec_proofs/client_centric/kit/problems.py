"""Clients with known constants: each coordinate's gradient is piecewise linear, and constant far out.

Such clients are smooth and have bounded gradients everywhere, they may be non-convex, and every constant that the
paper's assumptions speak about is a maximum over the kinks: exact in fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.plan import Oracle
from fedspec_proofs.engines.enclosure import sqrt_above
from fedspec_proofs.kit import piecewise
from fedspec_proofs.kit.piecewise import Piecewise, average


def through(*knots: tuple[Any, Any]) -> Piecewise:
    """Function whose derivative is piecewise linear through the points (x, y)."""
    return Piecewise(tuple(x for x, _ in knots), tuple(y for _, y in knots))


def huber(c: Any, bound: Any, h: Any = 1) -> Piecewise:
    """Huber's function: h (x - c)^2 / 2 while its derivative is at most ``bound``, linear beyond."""
    return piecewise.huber(Fraction(h), c, Fraction(bound) / Fraction(h))


def flat(y: Any) -> Piecewise:
    """Linear function y x, with constant derivative y."""
    return through((Fraction(0), Fraction(y)))


def dip(a: Any = 1) -> Piecewise:
    """Non-convex function with a maximum at zero between two minima: L = 1, bounded below."""
    a = Fraction(a)
    return through((-3 * a, -a), (-a, a), (a, -a), (3 * a, a))


@dataclass(frozen=True)
class Clients:
    """n clients in d dimensions, sums of functions of one coordinate, with additive gradient noise.

    Attributes:
        slopes: for every client its functions, one for each coordinate.
        nu: size of the noise: nu (1, ..., 1) or its negative, each with probability 1/2, drawn again at every local
            step.
    """

    slopes: tuple[tuple[Piecewise, ...], ...]
    nu: Fraction = Fraction(0)

    @property
    def n(self) -> int:
        """Number of clients."""
        return len(self.slopes)

    @property
    def d(self) -> int:
        """Dimension d."""
        return len(self.slopes[0])

    @property
    def smoothness(self) -> Fraction:
        """Constant L of assumption 1: gradients are separable, so the steepest coordinate decides."""
        return max(Fraction(s.smoothness) for one in self.slopes for s in one)

    @property
    def bound(self) -> Fraction:
        """Constant G of assumption 2, including noise: the supremum, rounded up to a multiple of 1/1000."""
        squares = max(sum(((s.largest + self.nu) ** 2 for s in one), Fraction(0)) for one in self.slopes)
        return Fraction(ceil(1000 * sqrt_above(squares)), 1000)

    @property
    def local_variance(self) -> Fraction:
        """Constant sigma_l^2 of assumption 3."""
        return self.d * self.nu**2

    def _points(self, j: int) -> list[Fraction]:
        return sorted({Fraction(x) for one in self.slopes for x in one[j].at})

    def deviations(self, x: Vector) -> list[Any]:
        """Squared distance of each client's gradient at x from the mean gradient."""
        g = np.array([[s.gradient(x_j) for s, x_j in zip(one, x, strict=True)] for one in self.slopes], dtype=object)
        apart = g - g.sum(axis=0) / self.n
        return [row @ row for row in apart]

    @property
    def per_client_variance(self) -> Fraction:
        """Smallest sigma_g^2 that bounds every client's deviation at every point."""
        return self._worst(max)

    @property
    def global_variance(self) -> Fraction:
        """Constant sigma_g^2 of assumption 4: the supremum of the mean squared deviation.

        The deviations are linear between kinks and constant outside, so their squares are largest at kinks; the
        coordinates do not know of each other, so the suprema add up.
        """
        return self._worst(lambda deviations: Fraction(sum(deviations), len(deviations)))

    @property
    def constants(self) -> dict[str, Any]:
        """Smallest constants that the clients meet, by the names that a run has for them."""
        spread = {"sigma_l2": self.local_variance, "sigma_g2": self.global_variance}
        return {"L": self.smoothness, "G": self.bound, **spread}

    def _worst(self, of: Any) -> Fraction:
        total = Fraction(0)
        for j in range(self.d):
            column = Clients(tuple((one[j],) for one in self.slopes))
            total += max(of(column.deviations(np.array([x], dtype=object))) for x in self._points(j))
        return total

    def gradient(self, x: Vector) -> Vector:
        """Gradient of f, the mean of the f_i, at x."""
        rows = [[s.gradient(x_j) for s, x_j in zip(one, x, strict=True)] for one in self.slopes]
        out: Vector = np.array(rows, dtype=x.dtype).sum(axis=0) / self.n
        return out

    def oracle(self, i: int, noise: Sequence[int] = ()) -> Oracle:
        """Stochastic gradients of client i, given the sign of the noise at each local step."""

        def gradient(k: int, x: Vector) -> Vector:
            exact = [s.gradient(x_j) for s, x_j in zip(self.slopes[i], x, strict=True)]
            return np.array([g + self.nu * noise[k] if noise else g for g in exact], dtype=x.dtype)

        return gradient

    @property
    def bounded_below(self) -> bool:
        """True if f has a minimum."""
        ends = [(self._points(j)[0] - 1, self._points(j)[-1] + 1) for j in range(self.d)]
        left, right = (self.gradient(np.array([e[k] for e in ends], dtype=object)) for k in (0, 1))
        return all(g <= 0 for g in left) and all(g >= 0 for g in right)

    def gap(self, x: Vector) -> Fraction:
        """f(x) - f* if f has a minimum; else f(x) minus the smallest value at a kink."""
        return sum((self._gap(j, Fraction(x[j])) for j in range(self.d)), Fraction(0))

    def _gap(self, j: int, x: Fraction) -> Fraction:
        f = average([one[j] for one in self.slopes])
        return Fraction(f.value(x) - min(map(f.value, (*f.at, *f.stationary, x))))

    def rounded(self) -> Clients:
        """Clients in floating point."""
        return Clients(tuple(tuple(s.floats() for s in one) for one in self.slopes), float(self.nu))  # type: ignore[arg-type]
