"""Explicit function of a class through given points, whose gradient and value can be computed anywhere.

With low = 0 the lower convex hull of the parabolas f_j + <g_j, y - x_j> + high |y - x_j|^2 / 2 is convex with gradients
that are Lipschitz with constant high (Drori 2017; Taylor, Hendrickx and Glineur 2017), and where the inequalities of
:mod:`classes` hold it takes the values f_j and gradients g_j. For another low, low |y|^2 / 2 is taken off and put back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from fedspec.errors import ShapeError
from fedspec.linear import solve
from fedspec_proofs.engines.exact import objects
from fedspec_proofs.engines.worst_case.classes import Class

Vector = tuple[Fraction, ...]


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """Inner product <a, b>."""
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def added(a: Sequence[Fraction], c: Fraction | int, b: Sequence[Fraction]) -> Vector:
    """Vector a + c b."""
    return tuple(p + c * q for p, q in zip(a, b, strict=True))


@dataclass(frozen=True)
class Through:
    """A function of a class, constructed from the points that it interpolates.

    Attributes:
        of: the class of the function.
        points: x_j, g_j and f_j: the points, gradients and values that it interpolates.
    """

    of: Class
    points: Sequence[tuple[Vector, Vector, Fraction]]

    def at(self, y: Vector) -> tuple[Vector, Fraction]:
        """Gradient and value of the function at y, exactly.

        The hull at y is the minimum over shares s_j of bend |y - sum s_j z_j|^2 / 2 + sum s_j b_j; the parabola of j is
        lowest at z_j = x_j - g_j / bend, with b_j. The best shares are found by trying which of them are not zero.

        Raises:
            ValueError: no optimal weights of the points were found, which is impossible in theory.
        """
        low, bend = self.of.low, self.of.high - self.of.low
        shifted = [(x, added(g, -low, x), f - low / 2 * dot(x, x)) for x, g, f in self.points]
        deepest = [added(x, -1 / bend, g) for x, g, _ in shifted]
        heights = [f - dot(g, g) / (2 * bend) for _, g, f in shifted]
        for size in range(1, len(deepest) + 1):
            for chosen in combinations(range(len(deepest)), size):
                shares = _balanced([deepest[j] for j in chosen], [heights[j] for j in chosen], y, bend)
                if not shares or min(shares) < 0:
                    continue
                off = y
                for j, s in zip(chosen, shares, strict=True):
                    off = added(off, -s, deepest[j])
                slopes = [b - bend * dot(off, z) for z, b in zip(deepest, heights, strict=True)]
                if min(slopes) == slopes[chosen[0]]:
                    height = sum((s * heights[j] for j, s in zip(chosen, shares, strict=True)), Fraction(0))
                    value = bend / 2 * dot(off, off) + height + low / 2 * dot(y, y)
                    return added([bend * c for c in off], low, y), value
        raise ValueError(f"interpolation: no weights of the {len(deepest)} points are optimal at {y}")


def _balanced(z: Sequence[Vector], b: Sequence[Fraction], y: Vector, bend: Fraction) -> list[Fraction]:
    """Shares of sum one where bend |y - sum s_j z_j|^2 / 2 + sum s_j b_j is stationary; none if not unique."""
    first = z[0]
    ways = [added(z_j, -1, first) for z_j in z[1:]]
    bends = objects(bend * dot(p, q) for p in ways for q in ways).reshape(len(ways), len(ways))
    pulls = objects(bend * dot(p, added(y, -1, first)) - (b_j - b[0]) for p, b_j in zip(ways, b[1:], strict=True))
    try:
        others = solve(bends, pulls)
    except ShapeError:
        return []
    return [1 - sum(others, Fraction(0)), *others]
