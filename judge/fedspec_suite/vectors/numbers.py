"""How numbers stand in a vector: inputs as short dyadic rationals, what is wanted exactly or to 25 digits."""

from __future__ import annotations

import decimal
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from fedspec.arith import DIGITS, digits
from fedspec.errors import FedspecError

SHOWN = 25
"""Digits of what is wanted where it is irrational or its fraction is long."""

_LONGEST = 27
"""Characters of a fraction that is written out."""

_WRITTEN = re.compile(r"-?\d{1,15}(?:/[1-9]\d{0,14})?|-?\d(?:\.\d{1,24})?(?:e-?\d{1,3})?")


def written(x: Fraction | Decimal) -> str:
    """A wanted number: an integer, ``p/q`` in lowest terms, or 25 digits."""
    if isinstance(x, Fraction):
        text = str(x)
        if len(text) <= _LONGEST and max(abs(x.numerator), x.denominator) < 2**49:
            return text
        with digits():
            x = Decimal(x.numerator) / Decimal(x.denominator)
    if x == 0:
        return "0"
    with decimal.localcontext() as context:
        context.prec = SHOWN
        sign, figures, exponent = (+x).normalize().as_tuple()
    assert isinstance(exponent, int)
    power = exponent + len(figures) - 1
    text = "".join(map(str, figures))
    tail = f".{text[1:]}" if len(text) > 1 else ""
    return f"{'-' * sign}{text[0]}{tail}" + (f"e{power}" if power else "")


def read(text: Any, where: str) -> Fraction:
    """The number that is written.

    Raises:
        FedspecError: it is none of the forms that a wanted number has.
    """
    if not isinstance(text, str) or not _WRITTEN.fullmatch(text):
        raise FedspecError(
            f"{where}: got {str(text)[:60]!r}; want an integer, p/q or up to {SHOWN} digits, as a string"
        )
    return Fraction(text)


def rounded_up(bound: float) -> float:
    """An error bound with three digits, never below it."""
    if bound == 0:
        return 0.0
    with decimal.localcontext() as context:
        context.prec, context.rounding = 3, decimal.ROUND_CEILING
        return float(+Decimal(bound))


assert DIGITS > SHOWN
