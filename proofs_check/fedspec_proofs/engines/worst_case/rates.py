"""A claim about every rate of an interval: multipliers at some rates, mixed linearly between neighbours.

What is left over is then a matrix of polynomials in the share s of the way from one rate to the next. In Bernstein's
basis, whose members are not negative on [0, 1], it is positive semidefinite there if all its coefficients are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Any

from sympy import QQ, field

from fedspec_proofs.engines.worst_case.forms import coefficient
from fedspec_proofs.engines.worst_case.proof import Problem, flaw, matrix, remainder, semidefinite
from fedspec_proofs.engines.worst_case.values import Value

_, RATE = field("rate", QQ)
"""A rate that is left open."""

Multipliers = Mapping[str, Fraction]

Polynomial = list[Fraction]
"""Its coefficients, that of the power 0 first."""


def flaw_between(open_: Problem | None, at: Sequence[tuple[Fraction, Problem, Multipliers]]) -> str:
    """Why the multipliers do not prove the claim at every rate from the first to the last; empty where they do.

    Args:
        open_: the claim at the rate :data:`RATE`; needed where there are several.
        at: rates that rise, the claim at each, and multipliers there.
    """
    for rate, problem, multipliers in at:
        wrong = flaw(problem, multipliers)
        if wrong:
            return f"at the rate {rate}: {wrong}"
    for (low, _, first), (high, _, last) in pairwise(at):
        assert open_ is not None, "a claim between rates is a claim about an open one"
        wrong = _flaw_of_mixtures(open_, low, high, first, last)
        if wrong:
            return f"between the rates {low} and {high}: {wrong}"
    return ""


def _flaw_of_mixtures(open_: Problem, low: Fraction, high: Fraction, first: Multipliers, last: Multipliers) -> str:
    share = (RATE - low) / (high - low)
    ends = {name: (first.get(name, Fraction(0)), last.get(name, Fraction(0))) for name in {**first, **last}}
    left = remainder(open_, {name: a + (b - a) * share for name, (a, b) in ends.items()})
    if left.values:
        return f"{next(iter(left.values))} is left over"
    parts = {pair: _along(c, low, high) for pair, c in left.products.items()}
    constant = _along(left.constant, low, high)
    degree = max(map(len, (*parts.values(), constant))) - 1
    if any(c < 0 for c in _bernstein(constant, degree)):
        return "a constant is left over"
    raised = {pair: _bernstein(p, degree) for pair, p in parts.items()}
    for k in range(degree + 1):
        at = Value({pair: cs[k] for pair, cs in raised.items() if cs[k]})
        if not semidefinite(matrix(at, open_.basis)):
            return "a matrix that is left over is not positive semidefinite"
    return ""


def _along(c: Any, low: Fraction, high: Fraction) -> Polynomial:
    """A coefficient at low + s (high - low), as a polynomial in s.

    Raises:
        TypeError: the rate stands below a fraction stroke.
    """
    c = coefficient(c)
    if isinstance(c, Fraction):
        return [c]
    if not c.denom.is_ground:
        raise TypeError(f"worst case: {c} is no polynomial in the rate")
    s = RATE.numer
    moved = (c.numer / c.denom.LC).compose(s, low + (high - low) * s)
    found = [moved.coeff(s**power if power else 1) for power in range(moved.degree() + 1)]
    return [Fraction(int(number.numerator), int(number.denominator)) for number in found]


def _bernstein(p: Polynomial, degree: int) -> Polynomial:
    """Its coefficients in Bernstein's basis of a degree that is not below its own."""
    return [
        sum((Fraction(comb(k, j), comb(degree, j)) * c for j, c in enumerate(p[: k + 1])), Fraction(0))
        for k in range(degree + 1)
    ]
