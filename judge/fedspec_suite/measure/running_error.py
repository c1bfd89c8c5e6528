"""Running error analysis: a number that carries a bound of its own rounding error, from which the tolerance follows.

The value is a 50-digit decimal. The bound, in units of the machine epsilon, is how far a floating-point evaluation of
the same operations may be from it. It is a bound at every distance that the judge looks at: for 1 <= c <= REACH,
operands that are off by up to c times their bounds give a result that is off by up to c times its own, whatever the
rounding of that operation, underflow included. So whoever is right about the operands is not found wrong about the
result. Where nothing of the kind can be said (a division by what may be zero, a sign or a branch that rounding may
turn, a root of what may be negative, a result that may overflow) the bound is infinite: undecided, not wrong.

There is one arithmetic for each floating-point type, since what rounding can hide depends on its epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fedspec import scalars
from fedspec.arith import Array
from fedspec.rounding import Grid

REACH = 100.0
"""Largest error, in units of the bound, for which the bounds of later results still hold."""

UNDERFLOWS = -800.0
"""Exponent below which exp is 0 in every floating-point type."""

_ZERO = Decimal(0)

_AMPLE = 1 + 1e-6
"""More than the rounding of the bounds themselves, and of the errors that they bound."""


class Running:
    """Value with a bound of its rounding error in units of epsilon; a subclass exists for each floating-point type.

    Attributes:
        value: the number as it should be.
        size: its magnitude as a float.
        bound: bound of the rounding error, in units of epsilon.
        nonnegative: True if every evaluation within REACH bounds is at least zero, because the bound says so, or
            because the value is a square, or a sum, product, quotient or root of such values.
    """

    __slots__ = ("bound", "nonnegative", "size", "value")

    resolution: ClassVar[float]
    """Machine epsilon of the subject's floating-point type."""

    lost: ClassVar[float]
    """Smallest normal number in units of epsilon: the most that underflow, or flushing subnormals to 0, can lose."""

    largest: ClassVar[float]
    """Largest finite number of the subject's floating-point type."""

    _far: ClassVar[float]
    """REACH machine epsilons."""

    def __init__(self, value: Any, bound: float = 0.0) -> None:
        if value.__class__ is not Decimal:
            is_fraction = isinstance(value, Fraction)
            value = Decimal(value.numerator) / Decimal(value.denominator) if is_fraction else Decimal(value)
        self.value: Decimal = value
        self.size = abs(float(value))
        self.bound = bound
        self.nonnegative = value >= _ZERO and (bound == 0 or self.size >= self._far * bound)

    def _blur(self, bound: float) -> float:
        """Interval within which a number of that bound is compared."""
        return self._far * bound

    def _rounded(self, value: Decimal, inherited: float, nonnegative: bool = False) -> Running:
        """Result of an operation: the bound inherited from its operands, and the rounding of its result."""
        out = object.__new__(type(self))
        out.value = value
        out.size = size = abs(float(value))
        far = self._far
        if not size + far * inherited < self.largest:
            bound = math.inf
        elif inherited or size or value:
            bound = _AMPLE * inherited + size + self.lost
        else:
            bound = 0.0
        out.bound = bound
        out.nonnegative = nonnegative or (value >= _ZERO and size >= far * bound)
        return out

    def _unsure(self, value: Decimal) -> Running:
        return type(self)(value, math.inf)

    def _as(self, bound: float, nonnegative: bool) -> Running:
        """Copy with another bound, not rounded again."""
        out = type(self)(self.value, bound)
        out.nonnegative = out.nonnegative or nonnegative
        return out

    def sent(self, model: Running) -> Running:
        """Return the value as a client's change: a difference of two rounded models carries their rounding errors."""
        return type(self)(self.value, model.size + self.size)

    def near(self, bound: float) -> Running:
        """Return the value with an error bound of ``bound`` roundings of 1; its sign counts as known."""
        return self._as(bound, self.value >= 0)

    def blurred(self, more: float) -> Running:
        """Value with a bound that is larger by so many roundings of one."""
        return type(self)(self.value, self.bound + more)

    def rounded(self, grid: Grid) -> Running:
        """Value on a grid; exact unless an evaluation within REACH bounds may be rounded to another number.

        Such an evaluation, c bounds away, is off by a jump of whole spacings. The bound is the largest jump over c: a
        number that is close to a boundary keeps a spacing of room, one that is far from it almost none, and the other
        coordinates of the case stay as sharp as they were. Undecided would throw them away.
        """
        here = Fraction(self.value)
        value = grid.nearest(here)
        if not self.bound < math.inf or not abs(value) + self._far * self.bound <= grid.largest:
            return self._unsure(self.value)
        jump, c = 0.0, 1
        while self.bound and c < REACH:
            # For 1 <= c <= REACH, in steps: the jump within 2 c bounds is that of c bounds at most.
            off = Fraction(2 * c * self.bound * self.resolution)
            jump = max(jump, *(float(abs(grid.nearest(x) - value)) / c for x in (here - off, here + off)))
            c *= 2
        odd = abs(value.numerator) // (value.numerator & -value.numerator or 1)
        digits = 1 - round(math.log2(self.resolution))
        unheld = self.size if odd.bit_length() > digits else 0.0
        return type(self)(value, jump / self.resolution + unheld)

    def __add__(self, other: Any) -> Running:
        if other.__class__ is not self.__class__:
            if isinstance(other, np.ndarray):
                return NotImplemented
            other = self._of(other)
        both = self.nonnegative and other.nonnegative
        return self._rounded(self.value + other.value, self.bound + other.bound, both)

    __radd__ = __add__

    def __neg__(self) -> Running:
        return type(self)(-self.value, self.bound)

    def __sub__(self, other: Any) -> Running:
        if other.__class__ is not self.__class__:
            if isinstance(other, np.ndarray):
                return NotImplemented
            other = self._of(other)
        return self._rounded(self.value - other.value, self.bound + other.bound)

    def __rsub__(self, other: Any) -> Running:
        return self._of(other) - self

    def __mul__(self, other: Any) -> Running:
        if other.__class__ is not self.__class__:
            if isinstance(other, np.ndarray):
                return NotImplemented
            other = self._of(other)
        # Where both operands are almost zero, the product of their errors is all there is.
        inherited = self.size * other.bound + other.size * self.bound + self._far * self.bound * other.bound
        same = self is other or (self.nonnegative and other.nonnegative)
        return self._rounded(self.value * other.value, inherited, same)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Running:
        if other.__class__ is not self.__class__:
            if isinstance(other, np.ndarray):
                return NotImplemented
            other = self._of(other)
        if other.value == 0:
            return self._unsure(self.value)
        value = self.value / other.value
        nearest = other.size - self._blur(other.bound)
        if not nearest > other.size / 1000:
            return self._unsure(value)
        inherited = (self.bound + abs(float(value)) * other.bound) / nearest
        return self._rounded(value, inherited, self.nonnegative and other.nonnegative)

    def __rtruediv__(self, other: Any) -> Running:
        return self._of(other) / self

    def __pow__(self, exponent: int) -> Running:
        """A whole power, by repeated multiplication.

        Raises:
            TypeError: the exponent is not a whole number.
        """
        if exponent != int(exponent):
            raise TypeError(f"running: got the exponent {exponent}; take whole powers, and roots by sqrt")
        out = type(self)(1)
        for _ in range(abs(int(exponent))):
            out = out * self
        out.nonnegative = out.nonnegative or exponent % 2 == 0
        return out if exponent >= 0 else 1 / out

    def sqrt(self) -> Running:
        """Return the square root; if the value may be 0, but not negative, the bound is the root of the error."""
        if self.value < 0 or not self.nonnegative:
            return self._unsure(Decimal(0) if self.value < 0 else self.value.sqrt())
        root = self.value.sqrt()
        size, lowest = float(root), self.size - self._blur(self.bound)
        if self.bound == 0:
            inherited = 0.0
        elif lowest > 0:
            inherited = self.bound / (size + math.sqrt(lowest))
        else:
            inherited = min(self.bound / size if size else math.inf, math.sqrt(self.bound / self.resolution))
        return self._rounded(root, inherited, True)

    def power(self, exponent: Any) -> Running:
        """Return a power of a positive number; the bound covers evaluation as exp(exponent * log)."""
        q = self._of(exponent)
        if q.value == 0 and q.bound == 0:
            return type(self)(1)
        if self.value <= 0:
            return self._unsure(self.value)
        raised, slope = self.value**q.value, float(q.value)
        lowest, highest = self.size - self._blur(self.bound), self.size + self._blur(self.bound)
        if not lowest > self.size / 1000:
            return self._unsure(raised)
        size = float(raised)
        # The steepest place is at one of the ends.
        steepest = abs(slope) * size * max((end / self.size) ** (slope - 1) for end in (lowest, highest)) / self.size
        grown = max(abs(math.log(end)) for end in (lowest, highest))
        exponents = size * grown * (q.bound + abs(slope)) * max(1.0, math.exp(self._blur(q.bound) * grown))
        return self._rounded(raised, steepest * self.bound + exponents, True)

    def exp(self) -> Running:
        """Return the exponential function; the bound allows libraries 4 units in the last place."""
        highest = float(self.value) + self._blur(self.bound)
        if not highest < math.log(self.largest):
            return self._unsure(Decimal(0))
        if highest < UNDERFLOWS:
            return self._rounded(_ZERO, self.lost, True)
        raised = self.value.exp()
        return self._rounded(raised, math.exp(highest) * self.bound + 4 * float(raised), True)

    def log(self) -> Running:
        """Return the natural logarithm; the bound is infinite if the number may not be positive."""
        lowest = self.size - self._blur(self.bound)
        if self.value <= 0 or not lowest > 0:
            return self._unsure(Decimal(0))
        found = self.value.ln()
        return self._rounded(found, self.bound / lowest + 4 * abs(float(found)))

    def largest_singular(self, rows: Sequence[Sequence[Running]]) -> Running:
        """Return the largest singular value of a matrix; its bound is the length of the numbers' bounds, and more."""
        numbers = [x for row in rows for x in row]
        length: Running = sum((x * x for x in numbers), start=type(self)(0)).sqrt()
        if not length.value:
            return length
        share = scalars.largest_singular([[x.value for x in row] for row in rows]) / length.value
        found: Running = length * share
        return found.blurred(math.hypot(*(x.bound for x in numbers)) + len(numbers) * length.size)

    def maximum(self, other: Any) -> Running:
        """Return the larger number; if rounding may swap the two, its bound is the larger of their bounds."""
        other = self._of(other)
        kept = self if self.value >= other.value else other
        return kept._as(self._chosen(other, kept), self.nonnegative or other.nonnegative)

    def minimum(self, other: Any) -> Running:
        """Return the smaller number; if rounding may swap the two, its bound is the larger of their bounds."""
        other = self._of(other)
        kept = self if self.value <= other.value else other
        return kept._as(self._chosen(other, kept), self.nonnegative and other.nonnegative)

    def _chosen(self, other: Running, kept: Running) -> float:
        return max(self.bound, other.bound) if self._ties(other) else kept.bound

    def _ties(self, other: Running) -> bool:
        """True if rounding may turn a comparison, or separate equal values."""
        bound = self.bound + other.bound
        return bound > 0 and not abs(float(self.value - other.value)) > self._blur(bound)

    def sign(self) -> Running:
        """Return the sign; the bound is infinite if the value may be zero up to rounding."""
        value = Decimal((self.value > 0) - (self.value < 0))
        return self._unsure(value) if self._ties(self._of(0)) else type(self)(value)

    def ratio(self, above: Any) -> Running:
        """Return above / self if self > 0, else 0; the bound is infinite if self may be zero up to rounding."""
        above = self._of(above)
        if self._ties(self._of(0)):
            return self._unsure(Decimal(0))
        return self._of(above / self) if self.value > 0 else type(self)(0)

    def where_less(self, other: Any, x: Any, y: Any) -> Running:
        """Return x if self < other, else y; the bound is infinite if rounding may turn the choice and x, y differ."""
        other, x, y = self._of(other), self._of(x), self._of(y)
        chosen: Running = x if self.value < other.value else y
        if not self._ties(other):
            return chosen
        alike = x.value == y.value
        return chosen._as(max(x.bound, y.bound) if alike else math.inf, x.nonnegative and y.nonnegative)

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
        out = type(self)(abs(self.value), self.bound)
        out.nonnegative = True
        return out

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return f"{float(self.value)!r}"

    def _of(self, x: Any) -> Running:
        """Convert a number to this arithmetic.

        Raises:
            TypeError: it is one of another floating-point type's.
        """
        if type(x) is type(self):
            return x
        if not isinstance(x, Running):
            return type(self)(x)
        raise TypeError(f"running: {type(self).__name__} and {type(x).__name__} numbers cannot be mixed")


class Running64(Running):
    """Number with error bounds for a float64 subject."""

    __slots__ = ()
    resolution = 2.0**-52
    lost = 2.0**-1022 / resolution
    _far = REACH * resolution
    largest = float(np.finfo(np.float64).max)


class Running32(Running):
    """Number with error bounds for a float32 subject."""

    __slots__ = ()
    resolution = 2.0**-23
    lost = 2.0**-126 / resolution
    _far = REACH * resolution
    largest = float(np.finfo(np.float32).max)


RUNNING: dict[str, type[Running]] = {"float64": Running64, "float32": Running32}
"""Class of running numbers for each floating-point type."""


def from_floats(x: Iterable[Any], dtype: str) -> Array:
    """Convert a subject's floats to running numbers that may be off by their own magnitude times epsilon."""
    number = RUNNING[dtype]
    return np.array([number(float(v), abs(float(v))) for v in x], dtype=object)


def bounds_of(numbers: Iterable[Running]) -> Array:
    """Return the error bounds of running numbers."""
    return np.array([x.bound for x in numbers])
