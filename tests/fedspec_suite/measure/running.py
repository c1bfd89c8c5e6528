"""A number that carries its own rounding-error bound: the arithmetic behind the judge's tolerance.

The value is a 50-digit decimal. The bound is what a floating-point evaluation of the same operations may be off by,
in units of the machine epsilon, to first order: every operation adds the magnitude of its own result to what it
inherits from its operands. Running a rule on these numbers yields what is wanted and the scale to measure by.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np


class Running:
    """A value and the bound of its rounding error in units of epsilon."""

    __slots__ = ("bound", "value")

    resolution = 2.0**-52
    """The machine epsilon of the subject: what :meth:`sign` must see through."""

    def __init__(self, value: Any, bound: float = 0.0) -> None:
        if isinstance(value, Fraction):
            value = Decimal(value.numerator) / Decimal(value.denominator)
        self.value = value if isinstance(value, Decimal) else Decimal(value)
        self.bound = bound

    def __add__(self, other: Any) -> Running:
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = _running(other)
        value = self.value + other.value
        return Running(value, self.bound + other.bound + abs(float(value)))

    __radd__ = __add__

    def __neg__(self) -> Running:
        return Running(-self.value, self.bound)

    def __sub__(self, other: Any) -> Running:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self + -_running(other)

    def __rsub__(self, other: Any) -> Running:
        return _running(other) + -self

    def __mul__(self, other: Any) -> Running:
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = _running(other)
        value = self.value * other.value
        a, b = abs(float(self.value)), abs(float(other.value))
        if math.isinf(self.bound) or math.isinf(other.bound):
            return Running(value, math.inf)
        return Running(value, a * other.bound + b * self.bound + abs(float(value)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Running:
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = _running(other)
        lost = abs(float(other.value)) < 100 * Running.resolution * other.bound
        if other.value == 0 or lost or math.isinf(other.bound):
            return Running(self.value if other.value == 0 else self.value / other.value, math.inf)
        value = self.value / other.value
        b, size = abs(float(other.value)), abs(float(value))
        return Running(value, self.bound / b + size * other.bound / b + size)

    def __rtruediv__(self, other: Any) -> Running:
        return _running(other) / self

    def __pow__(self, exponent: int) -> Running:
        out = Running(1)
        for _ in range(int(exponent)):
            out = out * self
        return out

    def sqrt(self) -> Running:
        """Square root; near zero the bound is that of the root of the error."""
        if self.value < 0:
            return Running(0, math.inf)
        root = self.value.sqrt()
        size = float(root)
        if size == 0.0:
            return Running(root, 0.0 if self.bound == 0.0 else math.inf)
        return Running(root, self.bound / (2 * size) + size)

    def maximum(self, other: Any) -> Running:
        """The larger one; with the larger bound where rounding may have picked either."""
        other = _running(other)
        return self._chosen(other, self.value >= other.value)

    def minimum(self, other: Any) -> Running:
        """The smaller one, likewise."""
        other = _running(other)
        return self._chosen(other, self.value <= other.value)

    def _chosen(self, other: Running, mine: bool) -> Running:
        gap, bound = abs(float(self.value - other.value)), self.bound + other.bound
        kept = self if mine else other
        sure = gap > 100 * Running.resolution * bound
        return Running(kept.value, kept.bound if sure else max(self.bound, other.bound))

    def sign(self) -> Running:
        """The sign; a value that is zero up to rounding has none that can be relied on."""
        value = Decimal((self.value > 0) - (self.value < 0))
        unsure = self.bound > 0 and abs(float(self.value)) < 100 * Running.resolution * self.bound
        return Running(value, math.inf if unsure else 0.0)

    def ratio(self, above: Any) -> Running:
        """above / self where self > 0, else 0; a divisor that is zero up to rounding decides nothing."""
        above = _running(above)
        if self.value > 0:
            return _running(above / self)
        return Running(0, 0.0 if self.bound == 0 else math.inf)

    def where_less(self, other: Any, x: Any, y: Any) -> Running:
        """x where self < other, else y; where rounding may have picked either, nothing is decided."""
        other, x, y = _running(other), _running(x), _running(y)
        chosen = x if self.value < other.value else y
        gap, bound = abs(float(self.value - other.value)), self.bound + other.bound
        unsure = bound > 0 and gap < 100 * Running.resolution * bound and x.value != y.value
        return Running(
            chosen.value, math.inf if unsure else max(x.bound, y.bound) if x.value == y.value else chosen.bound
        )

    def __eq__(self, other: object) -> bool:
        return self.value == _running(other).value

    def __lt__(self, other: Any) -> bool:
        return self.value < _running(other).value

    def __le__(self, other: Any) -> bool:
        return self.value <= _running(other).value

    def __gt__(self, other: Any) -> bool:
        return self.value > _running(other).value

    def __ge__(self, other: Any) -> bool:
        return self.value >= _running(other).value

    def __hash__(self) -> int:
        return hash(self.value)

    def __abs__(self) -> Running:
        return Running(abs(self.value), self.bound)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return f"{float(self.value)!r}"


def _running(x: Any) -> Running:
    return x if isinstance(x, Running) else Running(x)
