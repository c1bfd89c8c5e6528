"""Running numbers whose errors are carried from round to round as they are, and not by their sizes alone.

A running number knows how large its error may be. In a long run that forgets too much: if x is off by e and c by -e/K,
then x + K c is right, but its bound is twice as large as that of x. In SCAFFOLD such bounds grow twentyfold a round,
and the errors themselves don't.

Within a round these numbers are running numbers. From one round to the next, what a number may be off by becomes a
symbol of its own, and whatever is made of the number in later rounds knows how much of it is in there: a signed
coefficient for each symbol, of which signs can cancel. So an implementation may compute each round in any way, up to
the bounds of that round, and what it made of the rounds before goes on as the rule's own derivative says. What is not
linear in the symbols is added to the bound of the round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from fedspec.arith import Array
from fedspec_suite.measure.running_error import RUNNING, Running

_NOTHING: Array = np.zeros(0)


@dataclass
class Clock:
    """Number of the round that is played, and of the symbols so far."""

    round: int = 0
    symbols: int = 0


class CarriedError(Running):
    """Running number with a signed coefficient for each symbol of an earlier round; each run makes its own subclass.

    Attributes:
        own: bound of the error that came up in this round, in units of epsilon.
        terms: coefficients of the symbols, in units of epsilon.
        made: round in which an operation made the number; -1 for an input, whose error stays its own.
    """

    __slots__ = ("made", "own", "terms")

    clock: ClassVar[Clock]

    def __init__(self, value: Any, bound: float = 0.0) -> None:
        super().__init__(value, bound)
        self.own, self.terms, self.made = bound, _NOTHING, -1

    def _rounded(self, value: Decimal, inherited: float, nonnegative: bool = False) -> Any:
        out: Any = super()._rounded(value, inherited, nonnegative)
        out.own, out.terms, out.made = out.bound, _NOTHING, self.clock.round
        return out

    def _symbols(self) -> Array:
        """Coefficients of the symbols; if the number is of an earlier round, its own error has become one of them."""
        if 0 <= self.made < self.clock.round:
            if 0 < self.own < np.inf:
                self.terms = np.concatenate([self.terms, np.zeros(self.clock.symbols - len(self.terms)), [self.own]])
                self.clock.symbols += 1
                self.own = 0.0
            self.made = self.clock.round
        return self.terms

    def _carrying(self, out: Any, *parts: tuple[Any, float]) -> Any:
        """Give a result of these numbers times these slopes, up to second order, the symbols that they have."""
        if out is NotImplemented:
            return out
        rows = [(x._symbols(), slope) for x, slope in parts if isinstance(x, CarriedError)]
        longest = max(len(row) for row, _ in rows)
        if not longest or not out.bound < np.inf:
            return out
        terms, apart = np.zeros(longest), 0.0
        for row, slope in rows:
            terms[: len(row)] += slope * row
            apart += abs(slope) * float(np.abs(row).sum())
        own = out.bound - apart
        if not own >= 0:
            # Where the bound is better than the derivative, it stays.
            return out
        out.own, out.terms, out.bound = own, terms, own + float(np.abs(terms).sum())
        out.nonnegative = out.nonnegative or (out.value >= 0 and out.size >= self._far * out.bound)
        return out

    def _copied(self, out: Any, sign: float = 1.0) -> Any:
        """Give a copy, which no operation rounded, the symbols of the number."""
        if not out.bound < np.inf:
            return out
        terms = self._symbols()
        out.own, out.terms, out.made = self.own + (out.bound - self.bound), sign * terms, self.made
        return out

    def __add__(self, other: Any) -> Any:
        return self._carrying(super().__add__(other), (self, 1.0), (other, 1.0))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._carrying(super().__sub__(other), (self, 1.0), (other, -1.0))

    def __mul__(self, other: Any) -> Any:
        out = super().__mul__(other)
        if out is NotImplemented:
            return out
        return self._carrying(out, (self, float(other)), (other, float(self)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        out = super().__truediv__(other)
        if out is NotImplemented or not out.bound < np.inf:
            return out
        below = float(other)
        return self._carrying(out, (self, 1 / below), (other, -float(out) / below))

    def __neg__(self) -> Any:
        return self._copied(super().__neg__(), -1.0)

    def __abs__(self) -> Any:
        out: Any = super().__abs__()
        if self._ties(self._of(0)):
            out.made = self.clock.round
            return out
        return self._copied(out, 1.0 if self.value >= 0 else -1.0)

    def _as(self, bound: float, nonnegative: bool) -> Any:
        out: Any = super()._as(bound, nonnegative)
        out.made = self.clock.round
        return out

    def maximum(self, other: Any) -> Any:
        """Return the larger number; if rounding may swap the two, it has no symbols."""
        return self._taken(super().maximum(other), self._of(other))

    def minimum(self, other: Any) -> Any:
        """Return the smaller number; if rounding may swap the two, it has no symbols."""
        return self._taken(super().minimum(other), self._of(other))

    def _taken(self, out: Any, other: Any) -> Any:
        """Return the one of two numbers that was taken, for sure, instead of its copy."""
        if self._ties(other):
            return out
        return (self if out.value == self.value else other)._copied(out)

    def blurred(self, more: float) -> Any:
        """Value with a bound that is larger by so many roundings of one."""
        return self._copied(super().blurred(more))

    def largest_singular(self, rows: Sequence[Sequence[Running]]) -> Any:
        """Return the largest singular value of a matrix, without symbols."""
        out: Any = super().largest_singular(rows)
        return out._as(out.bound, True)

    def sqrt(self) -> Any:
        """Return the square root."""
        out = super().sqrt()
        if not out.bound < np.inf or not out.value:
            return out
        return self._carrying(out, (self, 0.5 / float(out)))


def carried(dtype: str) -> dict[str, type[CarriedError]]:
    """Return the arithmetic of one run in one floating-point type; the run sets its clock on after each event."""
    clock = Clock()
    number: Any = type(f"Carried{dtype[5:]}", (CarriedError, RUNNING[dtype]), {"__slots__": (), "clock": clock})
    return {dtype: number}
