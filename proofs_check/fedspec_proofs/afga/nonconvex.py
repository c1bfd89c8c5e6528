"""Non-convex clients that meet every assumption of the theorems, with rational gradients.

    bump    f(x) = u^2 / (1 + u^2),    u = x - b    |f''| <= 2, |f'| <= 13/20, rational values too
    well    f(x) = log(1 + u^2) / 2                 |f''| <= 1, |f'| <= 1/2, rational gradients

Both are bounded below by 0 and take their minimum at b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec.plan import Oracle


@dataclass(frozen=True)
class Well:
    """s times a well at b.

    Attributes:
        s: its depth, >= 0 for one that is bounded below.
        b: where its minimum is.
    """

    s: Any
    b: Any

    @property
    def L(self) -> Any:
        """The smoothness: f'' = s (1 - u^2)/(1 + u^2)^2 lies in [-|s|, |s|]."""
        return abs(self.s)

    @property
    def G(self) -> Any:
        """The largest slope: |u|/(1 + u^2) <= 1/2, with equality at u = 1."""
        return abs(self.s) / Fraction(2)

    def slope(self, x: Any) -> Any:
        """The gradient."""
        u = x - self.b
        return self.s * u / (1 + u * u)


@dataclass(frozen=True)
class Bump:
    """s times a bump at b; f'' = 2 s (1 - 3 u^2)/(1 + u^2)^3."""

    s: Any
    b: Any

    @property
    def L(self) -> Any:
        """The smoothness, attained at b."""
        return 2 * abs(self.s)

    @property
    def G(self) -> Any:
        """A bound of the slopes, whose largest is 3 sqrt(3)/8 < 13/20, at u^2 = 1/3."""
        return Fraction(13, 20) * abs(self.s)

    def value(self, x: Any) -> Any:
        """The objective."""
        u = x - self.b
        return self.s * u * u / (1 + u * u)

    def slope(self, x: Any) -> Any:
        """The gradient."""
        u = x - self.b
        return 2 * self.s * u / (1 + u * u) ** 2


def oracle(f: Well | Bump) -> Oracle:
    """Its gradient."""
    return lambda t, x: f.slope(x)


def oracles(clients: Sequence[Well | Bump]) -> list[Oracle]:
    """Their gradients."""
    return [oracle(f) for f in clients]
