"""Running numbers with a label: whether every implementation has them exactly, or which clients' data they depend on.

Where a rule chooses (the nearest of all changes, the largest of all entries, a sign), rounding may turn the choice, and
running numbers decide nothing where two are equal. But a number that is made of few bits by sums, differences and
products is the same in whatever order it is computed, and nobody rounds it. Two such numbers that are equal are equal
for every implementation: which one is taken is then what the rule says of equal ones, and no matter of rounding.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from fedspec.rounding import Grid
from fedspec_suite.measure.running_error import Running, Running32, Running64

Operation: TypeAlias = Literal["+", "-", "*", "/", "root", "power", "choice", "step"]
"""Operation on numbers; ``step``: a choice between two numbers that differ even if the compared ones tie."""


class TaggedNumber(Running):
    """Running number with a label that each operation derives from its operands; subclasses define the label."""

    __slots__ = ()

    def _made(self, out: Any, how: Operation, *others: Any) -> Any:
        """Label the result of an operation on this number and others."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self._made(super().__add__(other), "+", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._made(super().__sub__(other), "-", other)

    def __mul__(self, other: Any) -> Any:
        return self._made(super().__mul__(other), "*", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._made(super().__truediv__(other), "/", other)

    def __neg__(self) -> Any:
        return self._made(super().__neg__(), "+")

    def __abs__(self) -> Any:
        return self._made(super().__abs__(), "+")

    def _as(self, bound: float, nonnegative: bool) -> Any:
        return self._made(super()._as(bound, nonnegative), "+")

    def sqrt(self) -> Any:
        """Return the labelled square root."""
        return self._made(super().sqrt(), "root")

    def power(self, exponent: Any) -> Any:
        """Return the labelled power of a positive number."""
        return self._made(super().power(exponent), "power", exponent)

    def exp(self) -> Any:
        """Return the labelled exponential."""
        return self._made(super().exp(), "power")

    def log(self) -> Any:
        """Return the labelled logarithm."""
        return self._made(super().log(), "power")

    def maximum(self, other: Any) -> Any:
        """Return the larger number, labelled."""
        return self._made(super().maximum(other), "choice", other)

    def minimum(self, other: Any) -> Any:
        """Return the smaller number, labelled."""
        return self._made(super().minimum(other), "choice", other)

    def sign(self) -> Any:
        """Return the labelled sign."""
        return self._made(super().sign(), "step")

    def rounded(self, grid: Grid) -> Any:
        """The number on a grid."""
        return self._made(super().rounded(grid), "+")

    def blurred(self, more: float) -> Any:
        """The number with a larger bound; no operation, but as little exact as a power."""
        return self._made(super().blurred(more), "power")

    def where_less(self, other: Any, x: Any, y: Any) -> Any:
        """Return x if self < other, else y, labelled."""
        return self._made(super().where_less(other, x, y), "step", other, x, y)


class _Short(TaggedNumber):
    """A running number that knows whether every implementation has it exactly."""

    bits: ClassVar[int]
    """The most bits of such a number: sums of some of them in another order are no longer than their type allows."""

    exact: bool

    def __init__(self, value: Any, bound: float = 0.0) -> None:
        super().__init__(value, bound)
        self.exact = self._short()

    def _short(self) -> bool:
        """True if the value has few bits and no infinite bound."""
        above, below = self.value.as_integer_ratio()
        return (
            self.bound < np.inf
            and not below & (below - 1)
            and (above // (above & -above or 1)).bit_length() <= self.bits
        )

    def _made(self, out: Any, how: Operation, *others: Any) -> Any:
        if out is NotImplemented or any(out is x for x in others):
            return out
        made_of: list[Any] = [self, *map(self._of, others)]
        known = all(x.exact for x in made_of) and how != "power"
        # Whoever multiplies by 1/3 rounds; only a power of two is divided by without.
        if how == "/" and known:
            above, _ = made_of[1].value.as_integer_ratio()
            known = not abs(above) & (abs(above) - 1)
        out.exact = known and out._short()
        return out

    def sent(self, model: Any) -> Any:
        """The change of a model from here on, which is a difference of two models: exact where both are."""
        out: Any = super().sent(model)
        out.exact = self.exact and model.exact and (self + model).exact
        return out

    def _ties(self, other: Any) -> bool:
        return not (self.exact and other.exact) and super()._ties(other)


class Short64(_Short, Running64):
    """Running number for a float64 subject that knows whether it is exact in every implementation."""

    bits = 44


class Short32(_Short, Running32):
    """Running number for a float32 subject that knows whether it is exact in every implementation."""

    bits = 20


SHORT: dict[str, type[Running]] = {"float64": Short64, "float32": Short32}
"""Arithmetic of each floating-point type in which equal exact numbers count as ties instead of as undecided."""
