"""Clients with bounded gradients whose constants are exact numbers: sums of piecewise functions of single coordinates.

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


def along(parts: Sequence[Piecewise], x: Array) -> Vector:
    """The derivative of each part at its coordinate."""
    return vector(f.gradient(a) for f, a in zip(parts, x, strict=True))
