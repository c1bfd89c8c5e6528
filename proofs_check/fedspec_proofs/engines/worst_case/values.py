"""Expressions that are linear in a Gram matrix and in function values; claims consist of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fedspec_proofs.engines.worst_case.forms import Form, coefficient

Pair = tuple[str, str]


@dataclass(frozen=True)
class Value:
    """Expression sum c_ab <a, b> + sum c_f f + c.

    Attributes:
        products: c_ab by the names of two basis vectors, in order; none is zero.
        values: c_f by the name of a function's value at a point; none is zero.
        constant: c.
    """

    products: Mapping[Pair, Fraction] = field(default_factory=dict)
    values: Mapping[str, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)

    def __add__(self, other: Any) -> Value:
        other = _value(other)
        return Value(
            _sum(self.products, other.products), _sum(self.values, other.values), self.constant + other.constant
        )

    __radd__ = __add__

    def __mul__(self, c: Any) -> Value:
        c = coefficient(c)
        return Value(
            {k: c * v for k, v in self.products.items() if c},
            {k: c * v for k, v in self.values.items() if c},
            c * self.constant,
        )

    __rmul__ = __mul__

    def __truediv__(self, c: Any) -> Value:
        by = coefficient(c)
        return Value(
            {k: v / by for k, v in self.products.items()},
            {k: v / by for k, v in self.values.items()},
            self.constant / by,
        )

    def __neg__(self) -> Value:
        return self * -1

    def __sub__(self, other: Any) -> Value:
        return self + (-1 * _value(other))

    def __rsub__(self, other: Any) -> Value:
        return _value(other) + -self


def _value(other: Any) -> Value:
    return other if isinstance(other, Value) else Value(constant=coefficient(other))


def _sum(a: Mapping[Any, Fraction], b: Mapping[Any, Fraction]) -> dict[Any, Fraction]:
    total = {k: a.get(k, Fraction(0)) + b.get(k, Fraction(0)) for k in {**a, **b}}
    return {k: c for k, c in total.items() if c}


def inner(a: Form, b: Form) -> Value:
    """Inner product <a, b>."""
    total: dict[Pair, Fraction] = {}
    for m, c in a.parts:
        for n, d in b.parts:
            pair = (m, n) if m <= n else (n, m)
            total[pair] = total.get(pair, Fraction(0)) + c * d
    return Value({pair: c for pair, c in total.items() if c})


def square(a: Form) -> Value:
    """Squared norm |a|^2."""
    return inner(a, a)


def function_value(name: str) -> Value:
    """Function value with this name, as an expression."""
    return Value(values={name: Fraction(1)})
