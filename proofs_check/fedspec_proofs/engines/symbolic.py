"""Identities: rules run on vectors of sympy symbols, and a zero test for rational functions.

The test is made twice, in different ways: the expression is brought to the form numerator / denominator and its
numerator expanded, which must leave nothing; and the expression as it came out of the rule is evaluated exactly at
random rational points.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec_proofs.solvers import sympy

POINTS = 3
"""Number of random points at which each expression is evaluated."""


@dataclass(frozen=True)
class ZeroTest:
    """Result of :func:`vanishes`.

    Attributes:
        zero: True if every expression is identically zero; None if the symbolic and the numerical test disagree.
        expressions: number of expressions.
        witness: a point at which an expression isn't zero, by symbol, and the expression's value at it under ``value``.
    """

    zero: bool | None
    expressions: int
    witness: Mapping[str, str]

    def __bool__(self) -> bool:
        return self.zero is True


def normal_form(expression: Any) -> Any:
    """Write a rational function as one reduced fraction."""
    return sympy.cancel(sympy.together(expression))


def point(expressions: Iterable[Any], rng: np.random.Generator) -> dict[Any, Any]:
    """Random rational value in (0, 1) for every symbol, chosen so that no denominator in use vanishes."""
    names = sorted(set().union(*(e.free_symbols for e in expressions)), key=str)
    return {name: sympy.Rational(int(rng.integers(1, 96)), 97) for name in names}


def vanishes(expressions: Iterable[Any], rng: np.random.Generator) -> ZeroTest:
    """Decide whether rational functions are identically zero (zero wherever they are defined)."""
    listed = [sympy.sympify(e) for e in np.ravel(np.asarray(list(expressions), dtype=object))]
    exact = all(sympy.expand(sympy.fraction(sympy.together(e))[0]) == 0 for e in listed)
    for _ in range(POINTS):
        at = point(listed, rng)
        for e in listed:
            value = e.xreplace(at)
            if value != 0:
                said = {str(name): str(number) for name, number in at.items() if name in e.free_symbols}
                return ZeroTest(None if exact else False, len(listed), {**said, "value": str(value)})
    return ZeroTest(True if exact else None, len(listed), {})
