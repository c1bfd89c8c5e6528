"""Real numbers for SMT: wrapped z3 terms that can multiply a NumPy array from the left.

``z3.Real("a") * vector`` raises inside z3, which tries to make a numeral of the array instead of leaving the product
to NumPy; so no rule with a hyper-parameter runs on bare z3 reals. A :class:`Real` wraps the term and leaves arrays to
NumPy. Comparisons give z3 formulas. Roots, maxima, minima and signs are those of :mod:`fedspec.arith` on the term.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

import fedspec.arith as arith
from fedspec.arith import Array, Vector
from fedspec_proofs.engines.exact import objects
from fedspec_proofs.solvers import z3


def term(x: Any) -> Any:
    """z3 term of a number: a :class:`Real`, a z3 expression, or a Python number."""
    if isinstance(x, Real):
        return x.term
    return x if isinstance(x, z3.ExprRef) else z3.RealVal(str(x))


_ROOTS: ContextVar[list[Any] | None] = ContextVar("roots", default=None)


@contextmanager
def roots() -> Iterator[list[Any]]:
    """Context in which the root of a square is an absolute value, and the root of any other x a new variable r.

    The list fills with what is known of each variable: r >= 0 and r^2 = x, which holds of a root only where x >= 0. It
    belongs to the assumptions of a proof. z3 decides such formulas far more steadily than those with its own root.
    """
    known: list[Any] = []
    token = _ROOTS.set(known)
    try:
        yield known
    finally:
        _ROOTS.reset(token)


def _foreign(x: Any) -> bool:
    return not isinstance(x, Real | z3.ArithRef | int | Fraction)


def _by(operation: Callable[[Any, Any], Any]) -> Callable[[Real, Any], Any]:
    """Operation on terms, as an operation of a real with another number; arrays are left to NumPy."""
    return lambda self, other: NotImplemented if _foreign(other) else Real(operation(self.term, term(other)))


def _compared(comparison: Callable[[Any, Any], Any]) -> Callable[[Real, Any], Any]:
    return lambda self, other: comparison(self.term, term(other))


class Real:
    """A z3 real term with the operations that rules use."""

    __slots__ = ("term",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any) -> None:
        self.term = value if isinstance(value, z3.ArithRef) else z3.RealVal(str(value))

    def __repr__(self) -> str:
        return str(self.term)

    __add__ = _by(operator.add)
    __sub__ = _by(operator.sub)
    __mul__ = _by(operator.mul)
    __truediv__ = _by(operator.truediv)
    __radd__ = _by(lambda a, b: b + a)
    __rsub__ = _by(lambda a, b: b - a)
    __rmul__ = _by(lambda a, b: b * a)
    __rtruediv__ = _by(lambda a, b: b / a)
    __le__ = _compared(operator.le)
    __lt__ = _compared(operator.lt)
    __ge__ = _compared(operator.ge)
    __gt__ = _compared(operator.gt)

    def __neg__(self) -> Real:
        return Real(-self.term)

    def __pow__(self, n: int) -> Real:
        out = z3.RealVal(1)
        for k in range(n):
            out = out * self.term if k else self.term
        return Real(out)

    def __eq__(self, other: object) -> Any:
        return self.term == term(other)

    def __ne__(self, other: object) -> Any:
        return self.term != term(other)

    def sqrt(self) -> Real:
        """Square root; see also :func:`roots`."""
        known = _ROOTS.get()
        if known is None:
            return Real(arith.sqrt(self.term))
        square = z3.simplify(self.term)
        if z3.is_mul(square) and square.num_args() == 2 and square.arg(0).eq(square.arg(1)):
            return Real(z3.If(square.arg(0) >= 0, square.arg(0), -square.arg(0)))
        root = z3.FreshReal("root")
        known.append(z3.And(root >= 0, root * root == self.term))
        return Real(root)

    def maximum(self, other: Any) -> Real:
        """Larger of two numbers."""
        return Real(arith.maximum(self.term, term(other)))

    def minimum(self, other: Any) -> Real:
        """Smaller of two numbers."""
        return Real(arith.minimum(self.term, term(other)))

    def sign(self) -> Real:
        """Sign: -1, 0 or 1."""
        return Real(arith.sign(self.term))

    def ratio(self, above: Any) -> Real:
        """``above / self`` if self is positive, else 0."""
        return Real(arith.ratio(term(above), self.term))

    def where_less(self, other: Any, x: Any, y: Any) -> Real:
        """``x`` if self < other, else ``y``."""
        return Real(arith.where_less(self.term, term(other), term(x), term(y)))


def real(name: str) -> Any:
    """Make a real variable of that name."""
    return Real(z3.Real(name))


def reals(name: str, n: int) -> Vector:
    """A vector of n real variables, called name_0, name_1, ..."""
    return objects(real(f"{name}_{j}") for j in range(n))


def constants(values: Array) -> Array:
    """Convert an array of exact numbers to z3 reals."""
    return objects(map(Real, values.flat)).reshape(values.shape)
