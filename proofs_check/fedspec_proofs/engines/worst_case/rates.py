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

from fedspec_proofs.engines.worst_case.proof import Problem, flaw, matrix, semidefinite
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
    products: dict[Any, Polynomial] = {}
    values: dict[str, Polynomial] = {}
    constant: Polynomial = []

    def add(value: Value, share: Polynomial) -> None:
        nonlocal constant
        for pair, c in value.products.items():
            products[pair] = _plus(products.get(pair, []), _times(share, _along(c, low, high)))
        for name, c in value.values.items():
            values[name] = _plus(values.get(name, []), _times(share, _along(c, low, high)))
        constant = _plus(constant, _times(share, _along(value.constant, low, high)))

    add(open_.claimed, [Fraction(-1)])
    for name in {**first, **last}:
        a, b = first.get(name, Fraction(0)), last.get(name, Fraction(0))
        add(open_.given[name], [a, b - a])
    if any(any(p) for p in values.values()):
        return f"{next(name for name, p in values.items() if any(p))} is left over"
    degree = max(map(len, (*products.values(), constant)), default=1) - 1
    if any(c < 0 for c in _bernstein(constant, degree)):
        return "a constant is left over"
    parts = {pair: _bernstein(p, degree) for pair, p in products.items()}
    for k in range(degree + 1):
        left = Value({pair: cs[k] for pair, cs in parts.items() if cs[k]})
        if not semidefinite(matrix(left, open_.basis)):
            return "a matrix that is left over is not positive semidefinite"
    return ""


def _along(c: Any, low: Fraction, high: Fraction) -> Polynomial:
    """A coefficient at low + s (high - low), as a polynomial in s.

    Raises:
        TypeError: the rate stands below a fraction stroke.
    """
    if isinstance(c, Fraction):
        return [c]
    if not c.denom.is_ground:
        raise TypeError(f"worst case: {c} is no polynomial in the rate")
    out: Polynomial = []
    for (power,), number in c.numer.terms():
        term = [Fraction(int(number.numerator), int(number.denominator))]
        for _ in range(power):
            term = _times(term, [low, high - low])
        out = _plus(out, term)
    below = c.denom.LC
    return [t * Fraction(int(below.denominator), int(below.numerator)) for t in out]


def _plus(a: Polynomial, b: Polynomial) -> Polynomial:
    n = max(len(a), len(b))
    return [sum((p[k] for p in (a, b) if k < len(p)), Fraction(0)) for k in range(n)]


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    out = [Fraction(0)] * max(0, len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return out


def _bernstein(p: Polynomial, degree: int) -> Polynomial:
    """Its coefficients in Bernstein's basis of a degree that is not below its own."""
    return [
        sum((Fraction(comb(k, j), comb(degree, j)) * c for j, c in enumerate(p[: k + 1])), Fraction(0))
        for k in range(degree + 1)
    ]
