"""Vectors of unknown dimension, as linear forms over named basis vectors, and scalars that a rule computes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec_proofs.engines.exact import objects
from fedspec_proofs.engines.worst_case.open_rate import Powers


def _by_entry(operation: Callable[[Form, Any], Form]) -> Callable[[Form, Any], Form]:
    """An operation that leaves arrays to NumPy, which comes back with one entry after another."""

    def applied(self: Form, other: Any) -> Form:
        return NotImplemented if isinstance(other, np.ndarray) else operation(self, other)

    return applied


def _compared(comparison: Callable[[Fraction, Fraction], bool]) -> Callable[[Form, Any], bool]:
    return lambda self, other: comparison(_known(self), _known(other))


@dataclass(frozen=True, eq=False)
class Form:
    """Linear form sum_k c_k b_k + c: a vector (c = 0) over basis vectors b_k with unknown coordinates, or a number.

    A rule runs on it as on a number. What is not linear in its vectors is refused. Coefficients are fractions, or
    polynomials in a rate that is left open.

    Attributes:
        parts: c_k by the name of b_k, none of them zero, in the order of the names.
        constant: c.
    """

    parts: tuple[tuple[str, Fraction], ...]
    constant: Fraction = Fraction(0)

    @_by_entry
    def __add__(self, other: Any) -> Form:
        other = _form(other)
        total = dict(self.parts)
        for name, c in other.parts:
            total[name] = total.get(name, Fraction(0)) + c
        return form(total, self.constant + other.constant)

    __radd__ = __add__

    @_by_entry
    def __mul__(self, other: Any) -> Form:
        other = _form(other)
        if self.parts and other.parts:
            raise TypeError(f"worst case: the method multiplies {self} and {other}; it is not linear in its vectors")
        one, c = (self, other.constant) if self.parts else (other, self.constant)
        return form({name: c * part for name, part in one.parts}, c * one.constant)

    __rmul__ = __mul__

    @_by_entry
    def __truediv__(self, other: Any) -> Form:
        return _divided(self, _number(other))

    def __rtruediv__(self, other: Any) -> Form:
        return _divided(_form(other), _number(self))

    def __pow__(self, exponent: int) -> Form:
        return form({}, _number(self) ** exponent)

    def __neg__(self) -> Form:
        return form({name: -c for name, c in self.parts}, -self.constant)

    @_by_entry
    def __sub__(self, other: Any) -> Form:
        return self + -_form(other)

    def __rsub__(self, other: Any) -> Form:
        return _form(other) + -self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Form | Rational):
            return NotImplemented
        other = _form(other)
        return bool((self.parts, self.constant) == (other.parts, other.constant))

    def __hash__(self) -> int:
        return hash((self.parts, self.constant))

    __lt__ = _compared(operator.lt)
    __le__ = _compared(operator.le)
    __gt__ = _compared(operator.gt)
    __ge__ = _compared(operator.ge)

    def __str__(self) -> str:
        said = [f"{c} {name}" for name, c in self.parts] + [str(self.constant)] * bool(self.constant)
        return " + ".join(said) or "0"


def form(parts: Mapping[str, Fraction], constant: Fraction = Fraction(0)) -> Form:
    """Make the form with these coefficients; zero coefficients are dropped."""
    return Form(tuple(sorted((name, c) for name, c in parts.items() if c)), constant)


def basis(name: str) -> Form:
    """Basis vector of that name, about which nothing else is known."""
    return form({name: Fraction(1)})


ORIGIN = form({})
"""The zero vector."""


def vector(x: Form) -> Vector:
    """Wrap a form as an array with one entry, which rules accept as a vector."""
    return objects([x])


def _form(value: Any) -> Form:
    return value if isinstance(value, Form) else form({}, _number(value))


def _divided(one: Form, by: Any) -> Form:
    return form({name: c / by for name, c in one.parts}, one.constant / by)


def _number(value: Any) -> Any:
    return value.constant if isinstance(value, Form) and not value.parts else coefficient(value)


def _known(value: Any) -> Fraction:
    number = _number(value)
    if not isinstance(number, Fraction):
        raise TypeError(f"worst case: the method compares {number}, which depends on the rate")
    return number


def coefficient(value: Any) -> Any:
    """Convert a number to a fraction; a polynomial in an open rate is returned unchanged.

    Raises:
        TypeError: the number has no exact fraction.
    """
    if isinstance(value, Rational):
        return Fraction(value)
    if isinstance(value, Powers):
        return value
    raise TypeError(f"worst case: the method needs the number {value}; only its inner products are known")
