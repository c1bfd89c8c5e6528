"""Rational bounds of roots, logarithms and exponentials, which decide inequalities between such numbers exactly."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

from fedspec_proofs.solvers import mpmath

DIGITS = 50
SCALE = 10**DIGITS


def sqrt_below(q: Any) -> Fraction:
    """Rational lower bound of the square root of q >= 0, within 1e-50."""
    q = Fraction(q)
    return Fraction(isqrt(q.numerator * SCALE**2 // q.denominator), SCALE)


def sqrt_above(q: Any) -> Fraction:
    """Rational upper bound of the square root of q >= 0, within 1e-50."""
    below = sqrt_below(q)
    return below if below**2 == Fraction(q) else below + Fraction(1, SCALE)


def _interval(function: Any, q: Any) -> tuple[Fraction, Fraction]:
    before = mpmath.iv.dps
    mpmath.iv.dps = DIGITS
    try:
        q = Fraction(q)
        value = function(mpmath.iv.mpf(q.numerator) / mpmath.iv.mpf(q.denominator))
        return _fraction(value.a), _fraction(value.b)
    finally:
        mpmath.iv.dps = before


def _fraction(x: Any) -> Fraction:
    # An end of an interval is an interval of one point, whose mantissa and exponent are exact.
    sign, mantissa, exponent, _ = x._mpi_[0]
    value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -value if sign else value


def log(q: Any) -> tuple[Fraction, Fraction]:
    """Rational lower and upper bound of the natural logarithm of q > 0."""
    return _interval(mpmath.iv.log, q)


def exp(q: Any) -> tuple[Fraction, Fraction]:
    """Rational lower and upper bound of e^q."""
    return _interval(mpmath.iv.exp, q)
