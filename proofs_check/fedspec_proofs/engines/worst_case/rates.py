"""Claims about every rate of an interval: multipliers at some rates, interpolated linearly between neighbours.

What is left over is then a matrix of polynomials in the share s of the way from one rate to the next. In Bernstein's
basis, whose members are not negative on [0, 1], it is positive semidefinite there if all its coefficients are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Any

from fedspec_proofs.engines.worst_case.open_rate import Powers
from fedspec_proofs.engines.worst_case.proof import Problem, ill_formed, matrix, semidefinite
from fedspec_proofs.engines.worst_case.values import Value

Multipliers = Mapping[str, Fraction]

Polynomial = list[Fraction]
"""Coefficients of a polynomial, constant term first."""


def flaw_between(open_: Problem, at: Mapping[Fraction, Multipliers]) -> str:
    """Reason why the multipliers don't prove the claim at every rate of their interval; empty if they do.

    Args:
        open_: the claim with the open rate :data:`~fedspec_proofs.engines.worst_case.open_rate.RATE`.
        at: multipliers at two or more rates, in ascending order of the rates.
    """
    for rate, multipliers in at.items():
        wrong = ill_formed(open_, multipliers)
        if wrong:
            return f"at the rate {rate}: {wrong}"
    claimed, given = _entries(open_.claimed), {name: _entries(q) for name, q in open_.given.items()}
    for before, after in pairwise(at.items()):
        # The first and the last coefficient are what is left over at the two rates themselves.
        wrong = _flaw_along(_left(claimed, given, before, after), open_.basis)
        if wrong:
            return f"between the rates {before[0]} and {after[0]}: {wrong}"
    return ""


Entries = Mapping[Any, Polynomial]
"""Coefficients of a value, as polynomials in the rate: keyed by two names (product), one (function value) or ()."""


def _entries(value: Value) -> Entries:
    found: dict[Any, Any] = {**value.products, **value.values, (): value.constant}
    return {key: polynomial(c) for key, c in found.items()}


def _left(
    claimed: Entries,
    given: Mapping[str, Entries],
    before: tuple[Fraction, Multipliers],
    after: tuple[Fraction, Multipliers],
) -> Entries:
    """Remainder under the mixed multipliers of two rates: polynomials in the share s of the way between them."""
    (low, first), (high, last) = before, after
    at_first = {key: [-c for c in p] for key, p in claimed.items()}
    more: dict[Any, Polynomial] = {}
    for name in {**first, **last}:
        a, b = first.get(name, Fraction(0)), last.get(name, Fraction(0))
        for key, p in given[name].items():
            at_first[key] = plus(at_first.get(key, []), a, p)
            more[key] = plus(more.get(key, []), b - a, p)
    out = {}
    for key, p in at_first.items():
        mixed = plus(rebased(p, low, high), Fraction(1), [Fraction(0), *rebased(more.get(key, []), low, high)])
        while mixed and not mixed[-1]:
            mixed.pop()
        out[key] = mixed
    return out


def plus(p: Polynomial, c: Fraction, q: Polynomial) -> Polynomial:
    """Polynomial p + c q."""
    long = max(len(p), len(q))
    p, q = p + [Fraction(0)] * (long - len(p)), q + [Fraction(0)] * (long - len(q))
    return [a + c * b for a, b in zip(p, q, strict=True)]


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    """Polynomial p q."""
    out = [Fraction(0)] * max(0, len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return out


def rebased(p: Polynomial, low: Fraction, high: Fraction) -> Polynomial:
    """Rewrite a polynomial in the rate as one in s, with rate = low + s (high - low), by Horner's rule."""
    out: Polynomial = []
    for c in reversed(p):
        before = out
        out = plus([c], low, out)
        out = plus(out, high - low, [Fraction(0), *before])
    return out


def _flaw_along(left: Entries, names: Sequence[str]) -> str:
    over = [key for key, p in left.items() if isinstance(key, str) and p]
    if over:
        return f"{over[0]} is left over"
    parts = {key: p for key, p in left.items() if not isinstance(key, str)}
    degree = max(0, *(len(p) - 1 for p in parts.values()))
    raised = {key: bernstein(p, degree) for key, p in parts.items()}
    if any(c < 0 for c in raised.pop(())):
        return "a constant is left over"
    if any(not semidefinite(matrix(at, names)) for at in _split(raised)):
        return "a matrix that is left over is not positive semidefinite"
    return ""


def polynomial(c: Any) -> Polynomial:
    """Convert a coefficient to a polynomial in the rate.

    Raises:
        TypeError: the rate occurs in a denominator.
    """
    parts = dict(c.parts) if isinstance(c, Powers) else {0: c} if c else {}
    if any(k < 0 for k in parts):
        raise TypeError(f"worst case: got the coefficient {c}, which is no polynomial in the rate")
    return [parts.get(k, Fraction(0)) for k in range(max(parts, default=-1) + 1)]


def bernstein(p: Polynomial, degree: int) -> Polynomial:
    """Coefficients of a polynomial in Bernstein's basis of the given degree, at least its own."""
    return [
        sum((Fraction(comb(k, j), comb(degree, j)) * c for j, c in enumerate(p[: k + 1])), Fraction(0))
        for k in range(degree + 1)
    ]


def between(value: Value, low: Fraction, high: Fraction, least: int = 0) -> list[Value]:
    """Bernstein coefficients, in a degree of at least ``least``, of a polynomial in the rate on [low, high].

    It is at most zero between the two wherever all of these are.
    """
    parts = {key: rebased(p, low, high) for key, p in _entries(value).items()}
    degree = max(least, *(len(p) - 1 for p in parts.values()))
    return _split({key: bernstein(p, degree) for key, p in parts.items()})


def powers(value: Value) -> list[Value]:
    """Coefficients of a value by powers of the rate, constant first; at least one."""
    return _split(_entries(value)) or [Value()]


def _split(parts: Entries) -> list[Value]:
    """Values that have the first coefficient of every polynomial, the second of every one, and so on."""
    out = []
    for k in range(max(map(len, parts.values()), default=0)):
        there = {key: p[k] for key, p in parts.items() if k < len(p) and p[k]}
        constant = there.pop((), Fraction(0))
        names = {key: c for key, c in there.items() if isinstance(key, str)}
        out.append(Value({key: c for key, c in there.items() if key not in names}, names, constant))
    return out
