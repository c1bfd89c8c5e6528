"""Running numbers with a label: whether every implementation has them exactly, or which clients' data they depend on.

Where a rule chooses (the nearest of all changes, the largest of all entries, a sign), rounding may turn the choice, and
running numbers decide nothing where two are equal. But a number that is made of few bits by sums, differences and
products is the same in whatever order it is computed, and nobody rounds it. Two such numbers that are equal are equal
for every implementation: which one is taken is then what the rule says of equal ones, and no matter of rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from fedspec_suite.measure.running_error import Running, Running32, Running64

Operation: TypeAlias = Literal["+", "-", "*", "/", "root", "power", "choice", "step"]
"""Operation on numbers; ``step``: a choice between two numbers that differ even if the compared ones tie."""


class TaggedNumber(Running):
    """Running number with a label that each operation derives from its operands; subclasses define the label."""

    __slots__ = ()

    def _made(self, out: Any, how: Operation, *others: Any) -> Any:
        """Label the result of an operation on this number and others."""
        raise NotImplementedError


_HOW: dict[str, Operation] = {
    **dict.fromkeys(("__add__", "__radd__"), "+"),
    "__sub__": "-",
    **dict.fromkeys(("__mul__", "__rmul__"), "*"),
    "__truediv__": "/",
    **dict.fromkeys(("__neg__", "__abs__"), "+"),
    "sqrt": "root",
    **dict.fromkeys(("power", "exp", "log"), "power"),
    **dict.fromkeys(("maximum", "minimum"), "choice"),
    **dict.fromkeys(("sign", "where_less"), "step"),
}
"""Operation of each method of numbers, whose arguments are its other operands."""

_COPIES: dict[str, Operation] = {"_as": "+", "rounded": "+", "blurred": "power"}
"""Operation of each method that gives the same number anew; a larger bound is as little exact as a power."""


def _labelled(name: str, how: Operation) -> Callable[..., Any]:
    """Method of running numbers whose result is labelled."""
    plain = getattr(Running, name)

    def run(self: TaggedNumber, *given: Any) -> Any:
        return self._made(plain(self, *given), how, *(given if name in _HOW else ()))

    return run


for _name, _how in {**_HOW, **_COPIES}.items():
    setattr(TaggedNumber, _name, _labelled(_name, _how))


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
