"""Laurent polynomials in a rate that is left symbolic, with coefficients in fractions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any


def _with_numbers(operation: Callable[[Powers, Powers], Any]) -> Callable[[Powers, Any], Any]:
    """Operation that returns ``NotImplemented`` for anything but such a sum or a fraction."""

    def applied(self: Powers, other: Any) -> Any:
        if isinstance(other, Rational):
            other = Powers(((0, Fraction(other)),))
        return operation(self, other) if isinstance(other, Powers) else NotImplemented

    return applied


@dataclass(frozen=True)
class Powers:
    """Laurent polynomial sum c_k rate^k.

    A rule computes with it as with a number. What divides by more than one power of it is refused.

    Attributes:
        parts: c_k by k, none of them zero, in the order of k.
    """

    parts: tuple[tuple[int, Fraction], ...]

    @_with_numbers
    def __add__(self, other: Powers) -> Any:
        total = dict(self.parts)
        for k, c in other.parts:
            total[k] = total.get(k, Fraction(0)) + c
        return powers(total)

    __radd__ = __add__

    @_with_numbers
    def __mul__(self, other: Powers) -> Any:
        total: dict[int, Fraction] = {}
        for j, b in self.parts:
            for k, c in other.parts:
                total[j + k] = total.get(j + k, Fraction(0)) + b * c
        return powers(total)

    __rmul__ = __mul__

    @_with_numbers
    def __truediv__(self, other: Powers) -> Any:
        return self * _inverse(other)

    @_with_numbers
    def __rtruediv__(self, other: Powers) -> Any:
        return other * _inverse(self)

    def __neg__(self) -> Any:
        return self * -1

    @_with_numbers
    def __sub__(self, other: Powers) -> Any:
        return self + -other

    @_with_numbers
    def __rsub__(self, other: Powers) -> Any:
        return other + -self

    def __pow__(self, exponent: int) -> Any:
        out: Any = Fraction(1)
        for _ in range(exponent):
            out = out * self
        return out

    def __str__(self) -> str:
        return " + ".join(f"{c} rate^{k}" for k, c in self.parts)


def powers(parts: Mapping[int, Fraction]) -> Any:
    """Polynomial with these coefficients; a fraction if it does not depend on the rate."""
    kept = tuple(sorted((k, c) for k, c in parts.items() if c))
    return Powers(kept) if any(k for k, _ in kept) else sum((c for _, c in kept), Fraction(0))


RATE: Any = powers({1: Fraction(1)})
"""Symbolic rate."""


def _inverse(value: Powers) -> Any:
    if len(value.parts) != 1:
        raise TypeError(f"worst case: the method divides by {value}; the claim is then no polynomial in the rate")
    ((k, c),) = value.parts
    return powers({-k: 1 / c})
