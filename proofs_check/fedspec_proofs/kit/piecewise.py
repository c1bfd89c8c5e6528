"""Scalar functions whose derivative is piecewise linear and constant far out, such as Huber's.

A quadratic has no bounded gradient on the whole line; Huber's function has, and near its minimum it is the same. Such
functions are smooth, they may be non-convex, and every constant of theirs is a maximum over the bends: exact in
fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any


@dataclass(frozen=True)
class Piecewise:
    """A function of one variable with f'(at[k]) = slopes[k], f' linear between these points and constant beyond.

    Attributes:
        at: points where the derivative bends, in increasing order.
        slopes: the derivative at these points.
    """

    at: tuple[Any, ...]
    slopes: tuple[Any, ...]

    @property
    def _pieces(self) -> Any:
        return pairwise(zip(self.at, self.slopes, strict=True))

    def gradient(self, x: Any) -> Any:
        """Derivative f'(x)."""
        if x <= self.at[0]:
            return self.slopes[0]
        for (a, g), (b, h) in self._pieces:
            if x <= b:
                return g + (h - g) * (x - a) / (b - a)
        return self.slopes[-1]

    def value(self, x: Any) -> Any:
        """f(x) - f(at[0]), the area under the derivative, as a sum of trapezoids."""
        if x <= self.at[0]:
            return self.slopes[0] * (x - self.at[0])
        total, corners = self.slopes[0] * 0, [*(a for a in self.at if a < x), x]
        for a, b in pairwise(corners):
            total = total + (self.gradient(a) + self.gradient(b)) * (b - a) / 2
        return total

    @property
    def smoothness(self) -> Any:
        """Lipschitz constant of the derivative: the slope of its steepest piece."""
        return max((abs((h - g) / (b - a)) for (a, g), (b, h) in self._pieces), default=0)

    @property
    def largest(self) -> Any:
        """The least upper bound of |f'|."""
        return max(map(abs, self.slopes))

    @property
    def stationary(self) -> tuple[Any, ...]:
        """Zeros of the derivative; of an interval of zeros, its end points."""
        bends = [a for a, g in zip(self.at, self.slopes, strict=True) if g == 0]
        return (*bends, *(a - g * (b - a) / (h - g) for (a, g), (b, h) in self._pieces if g * h < 0))

    @property
    def minimiser(self) -> Any:
        """A global minimiser of f.

        Raises:
            ValueError: f is not bounded below.
        """
        if self.slopes[0] > 0 or self.slopes[-1] < 0:
            raise ValueError(
                f"minimiser: got slopes {self.slopes[0]} and {self.slopes[-1]} at the ends; if the first is > 0 or the "
                "last < 0, f is not bounded below"
            )
        return min(self.stationary, key=self.value)

    @property
    def least(self) -> Any:
        """Minimum of f - f(at[0])."""
        return self.value(self.minimiser)

    def floats(self) -> Piecewise:
        """Copy of the function with floating-point numbers."""
        return Piecewise(tuple(map(float, self.at)), tuple(map(float, self.slopes)))


def huber(c: Any, at: Any = 0, reach: Any = 1) -> Piecewise:
    """Huber's function: c (x - at)^2 / 2 up to distance ``reach`` from its minimum, linear beyond."""
    return Piecewise((at - reach, at + reach), (-c * reach, c * reach))


def average(functions: Sequence[Piecewise]) -> Piecewise:
    """Pointwise mean of piecewise functions, up to a constant."""
    at = tuple(sorted({a for f in functions for a in f.at}))
    return Piecewise(at, tuple(sum(f.gradient(a) for f in functions) / len(functions) for a in at))
