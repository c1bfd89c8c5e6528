"""Clients with bounded gradients and exactly known constants: sums of piecewise functions of single coordinates.

They are smooth in every reading of the paper's first assumption.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

from fedspec.arith import Array, Vector, norm
from fedspec.plan import Oracle
from fedspec_proofs.kit.piecewise import Piecewise, average


def vector(values: Iterable[Any]) -> Vector:
    """Vector of numbers: with dtype float if one of them is a float, else object."""
    listed = list(values)
    return np.array(listed, dtype=float if any(isinstance(v, float) for v in listed) else object)


@dataclass(frozen=True)
class Problem:
    """Clients with objectives that are sums of piecewise functions, one per coordinate.

    Attributes:
        parts: part j of client i's objective at [i][j].
        sizes: number of coordinates of each layer.
    """

    parts: tuple[tuple[Piecewise, ...], ...]
    sizes: tuple[int, ...]

    @property
    def layers(self) -> tuple[slice, ...]:
        """Slice of each layer."""
        ends = np.cumsum((0, *self.sizes)).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))

    @property
    def whole(self) -> tuple[Piecewise, ...]:
        """Summands of f, the mean over clients, by coordinate."""
        return tuple(average(column) for column in zip(*self.parts, strict=True))

    @property
    def clients(self) -> tuple[Oracle, ...]:
        """Gradients of the clients, as oracles."""
        return tuple(lambda k, x, row=row: along(row, x) for row in self.parts)

    def gradient(self, x: Vector) -> Vector:
        """Gradient of f at x."""
        return along(self.whole, x)

    def value(self, x: Vector) -> Any:
        """Value f(x), up to a constant that does not depend on x."""
        return sum(f.value(a) for f, a in zip(self.whole, x, strict=True))

    @property
    def least(self) -> Any:
        """Minimum of f, up to the same constant as :meth:`value`."""
        return sum(f.least for f in self.whole)

    @property
    def smoothness(self) -> tuple[Any, ...]:
        """Constants L_l of f with f(y) <= f(x) + <f'(x), y - x> + sum of L_l / 2 ||y^l - x^l||^2."""
        return tuple(max(f.smoothness for f in self.whole[at]) for at in self.layers)

    @property
    def lipschitz(self) -> tuple[Any, ...]:
        """Constants Lam_l: Lipschitz constants within layer l that hold for every client's gradient."""
        return tuple(max(f.smoothness for row in self.parts for f in row[at]) for at in self.layers)

    @property
    def largest_squared(self) -> Any:
        """Upper bound of ||f_i'||^2 for every client, everywhere."""
        return max(sum(f.largest**2 for f in row) for row in self.parts)

    def heterogeneity(self) -> Any:
        """Heterogeneity zeta: the largest of 1/n sum_i sum_l ||f_i'(x)^l - f'(x)^l|| over all x.

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


def along(parts: Sequence[Piecewise], x: Array) -> Vector:
    """Derivative of each summand at its coordinate."""
    return vector(f.gradient(a) for f, a in zip(parts, x, strict=True))
