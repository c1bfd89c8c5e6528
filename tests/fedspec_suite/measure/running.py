"""A number that carries its own rounding-error bound: the arithmetic behind the judge's tolerance.

The value is a 50-digit decimal. The bound is what a floating-point evaluation of the same operations may be off by,
in units of the machine epsilon, to first order: every operation adds the magnitude of its own result to what it
inherits from its operands. Running a rule on these numbers yields what is wanted and the scale to measure by.

There is one arithmetic for each floating-point type, since what rounding can hide depends on its epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fedspec.arith import Array


class Running:
    """A value and the bound of its rounding error in units of epsilon; one of the subclasses below."""

    __slots__ = ("bound", "value")

    resolution: ClassVar[float]
    """The machine epsilon of the subject: what comparisons must see through."""

    def __init__(self, value: Any, bound: float = 0.0) -> None:
        if isinstance(value, Fraction):
            value = Decimal(value.numerator) / Decimal(value.denominator)
        self.value = value if isinstance(value, Decimal) else Decimal(value)
        self.bound = bound

    def __add__(self, other: Any) -> Running:
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = self._of(other)
        value = self.value + other.value
        return type(self)(value, self.bound + other.bound + abs(float(value)))

    __radd__ = __add__

    def __neg__(self) -> Running:
        return type(self)(-self.value, self.bound)

    def __sub__(self, other: Any) -> Running:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self + -self._of(other)

    def __rsub__(self, other: Any) -> Running:
        return self._of(other) + -self

    def __mul__(self, other: Any) -> Running:
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = self._of(other)
        value = self.value * other.value
        a, b = abs(float(self.value)), abs(float(other.value))
        if math.isinf(self.bound) or math.isinf(other.bound):
            return type(self)(value, math.inf)
        return type(self)(value, a * other.bound + b * self.bound + abs(float(value)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Running:
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = self._of(other)
        lost = abs(float(other.value)) < 100 * self.resolution * other.bound
        if other.value == 0 or lost or math.isinf(other.bound):
            return type(self)(self.value if other.value == 0 else self.value / other.value, math.inf)
        value = self.value / other.value
        b, size = abs(float(other.value)), abs(float(value))
        return type(self)(value, self.bound / b + size * other.bound / b + size)

    def __rtruediv__(self, other: Any) -> Running:
        return self._of(other) / self

    def __pow__(self, exponent: int) -> Running:
        out = type(self)(1)
        for _ in range(int(exponent)):
            out = out * self
        return out

    def sqrt(self) -> Running:
        """Square root; near zero the bound is that of the root of the error."""
        if self.value < 0:
            return type(self)(0, math.inf)
        root = self.value.sqrt()
        size = float(root)
        if size == 0.0:
            return type(self)(root, 0.0 if self.bound == 0.0 else math.inf)
        return type(self)(root, self.bound / (2 * size) + size)

    def maximum(self, other: Any) -> Running:
        """The larger one; with the larger bound where rounding may have picked either."""
        other = self._of(other)
        return self._chosen(other, self.value >= other.value)

    def minimum(self, other: Any) -> Running:
        """The smaller one, likewise."""
        other = self._of(other)
        return self._chosen(other, self.value <= other.value)

    def _chosen(self, other: Running, mine: bool) -> Running:
        gap, bound = abs(float(self.value - other.value)), self.bound + other.bound
        kept = self if mine else other
        sure = gap > 100 * self.resolution * bound
        return type(self)(kept.value, kept.bound if sure else max(self.bound, other.bound))

    def sign(self) -> Running:
        """The sign; a value that is zero up to rounding has none that can be relied on."""
        value = Decimal((self.value > 0) - (self.value < 0))
        unsure = self.bound > 0 and abs(float(self.value)) < 100 * self.resolution * self.bound
        return type(self)(value, math.inf if unsure else 0.0)

    def ratio(self, above: Any) -> Running:
        """above / self where self > 0, else 0; a divisor that is zero up to rounding decides nothing."""
        above = self._of(above)
        if self.value > 0:
            return self._of(above / self)
        return type(self)(0, 0.0 if self.bound == 0 else math.inf)

    def where_less(self, other: Any, x: Any, y: Any) -> Running:
        """x where self < other, else y; where rounding may have picked either, nothing is decided."""
        other, x, y = self._of(other), self._of(x), self._of(y)
        chosen = x if self.value < other.value else y
        gap, bound = abs(float(self.value - other.value)), self.bound + other.bound
        unsure = bound > 0 and gap < 100 * self.resolution * bound and x.value != y.value
        return type(self)(
            chosen.value, math.inf if unsure else max(x.bound, y.bound) if x.value == y.value else chosen.bound
        )

    def __eq__(self, other: object) -> bool:
        return self.value == self._of(other).value

    def __lt__(self, other: Any) -> bool:
        return self.value < self._of(other).value

    def __le__(self, other: Any) -> bool:
        return self.value <= self._of(other).value

    def __gt__(self, other: Any) -> bool:
        return self.value > self._of(other).value

    def __ge__(self, other: Any) -> bool:
        return self.value >= self._of(other).value

    def __hash__(self) -> int:
        return hash(self.value)

    def __abs__(self) -> Running:
        return type(self)(abs(self.value), self.bound)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return f"{float(self.value)!r}"

    def _of(self, x: Any) -> Running:
        """The same number in this arithmetic.

        Raises:
            TypeError: it is one of another floating-point type's.
        """
        if not isinstance(x, Running):
            return type(self)(x)
        if type(x) is not type(self):
            raise TypeError(f"running: {type(self).__name__} and {type(x).__name__} numbers cannot be mixed")
        return x


class Running64(Running):
    """What a float64 subject may be off by."""

    __slots__ = ()
    resolution = 2.0**-52


class Running32(Running):
    """What a float32 subject may be off by."""

    __slots__ = ()
    resolution = 2.0**-23


RUNNING: dict[str, type[Running]] = {"float64": Running64, "float32": Running32}
"""The arithmetic of each floating-point type."""


def from_floats(x: Iterable[Any], dtype: str) -> Array:
    """A subject's floats as running numbers that may be off by their own magnitude times epsilon."""
    number = RUNNING[dtype]
    return np.array([number(float(v), abs(float(v))) for v in x], dtype=object)


def bounds_of(numbers: Iterable[Running]) -> Array:
    """The error bounds of running numbers."""
    return np.array([x.bound for x in numbers])
