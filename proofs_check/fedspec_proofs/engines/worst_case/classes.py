"""Classes of functions, such as L-smooth ones, and the inequalities between any two evaluated points.

The inequalities are necessary and sufficient: points, gradients and values that obey them are those of a function of
the class (Taylor, Hendrickx and Glineur 2017). So nothing is lost by putting them in place of the function.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import Any

from fedspec.arith import Vector
from fedspec_proofs.engines.worst_case.forms import ORIGIN, Form, basis, vector
from fedspec_proofs.engines.worst_case.values import Value, function_value, inner, square


@dataclass(frozen=True)
class Point:
    """Point at which a function was evaluated, with the gradient and the value there."""

    x: Form
    g: Form
    f: Value


@dataclass(frozen=True)
class Class:
    """Class of functions f whose curvature is in [low, high]: f - low |x|^2 / 2 and high |x|^2 / 2 - f are convex."""

    low: Fraction
    high: Fraction

    def __call__(self, i: Point, j: Point) -> Value:
        """Left side of the interpolation inequality <= 0 for two points of one function."""
        dx, dg = i.x - j.x, i.g - j.g
        bent = square(dg - self.low * dx) / (2 * (self.high - self.low))
        return j.f - i.f + inner(j.g, dx) + self.low / 2 * square(dx) + bent


def smooth(L: Fraction | int) -> Class:
    """Class of functions with L-Lipschitz gradients; they need not be convex."""
    return Class(-Fraction(L), Fraction(L))


def convex(L: Fraction | int) -> Class:
    """Class of convex functions with L-Lipschitz gradients."""
    return Class(Fraction(0), Fraction(L))


def strongly_convex(mu: Fraction | int, L: Fraction | int) -> Class:
    """Class of mu-strongly convex functions with L-Lipschitz gradients, L > mu."""
    return Class(Fraction(mu), Fraction(L))


@dataclass
class Function:
    """An unknown function of a class: every new point gets a new symbolic gradient and value.

    Attributes:
        name: prefix of the names of the function's values and gradients.
        of: the class of the function.
        points: gradient and value at each point, by the linear form of the point.
    """

    name: str
    of: Class
    points: dict[Form, Point] = field(default_factory=dict)

    def at(self, x: Form) -> Point:
        """Evaluate the function: gradient and value at a point, new ones if the point is new."""
        if x not in self.points:
            self._say(x, basis(f"{self.name}.g{len(self.points)}"))
        return self.points[x]

    def stationary(self, x: Form) -> None:
        """Declare that the gradient at a new point is zero."""
        self._say(x, ORIGIN)

    def meets(self, x: Form, g: Form) -> None:
        """Declare the gradient at a new point.

        Raises:
            ValueError: the function was already evaluated at this point.
        """
        if x in self.points:
            raise ValueError(f"worst case: {self.name} already has a gradient at {x}; declare each point once")
        self._say(x, g)

    def _say(self, x: Form, g: Form) -> None:
        self.points[x] = Point(x, g, function_value(f"{self.name}.f{len(self.points)}"))

    def oracle(self, k: int, x: Vector) -> Vector:
        """Gradient of the function, with the signature that a client's rule calls."""
        return vector(self.at(x[0]).g)

    def obeys(self) -> dict[str, Value]:
        """Expressions that are at most zero for every ordered pair of evaluated points, by name."""
        numbered = [*enumerate(self.points.values())]
        return {f"{self.name} {i},{j}": self.of(p, q) for (i, p), (j, q) in permutations(numbered, 2)}


def mean(weights: Any, functions: Any, x: Form) -> Point:
    """Weighted sum of the functions at a point: sum w_i F_i, with its gradient and value."""
    asked = [f.at(x) for f in functions]
    total = [(w * p.g, w * p.f) for w, p in zip(weights, asked, strict=True)]
    return Point(x, sum((g for g, _ in total), ORIGIN), sum((f for _, f in total), Value()))
