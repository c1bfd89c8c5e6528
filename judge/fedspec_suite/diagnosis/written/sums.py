"""Right sides that are sums of what is at hand: the coefficients of all terms are solved for together.

The search by size writes out small changes. In rules that mix, predict or correct, a mistake may have more terms, but
it is often linear in vectors that the algorithm has. Its coefficients are rational numbers times hyper-parameters.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from fedspec.arith import Array
from fedspec.source_text import loaded
from fedspec_suite.diagnosis.written.box import value_of
from fedspec_suite.diagnosis.written.replay import Opened

MOST = 8
"""Largest number of terms of a sum."""

ROWS = 3
"""Least number of values for each coefficient."""

DENOMINATOR = 6
"""Largest denominator of a coefficient."""

NEAR = 1e-6
"""Largest distance of a coefficient from a rational number."""

COLUMNS = 400
"""Largest number of terms that are solved for together."""

SIZE = 12
"""Size of a sum without terms: a smaller change, if one fits, comes first."""

Term = tuple[str, str]
"""Factor and vector of a term, as text."""


def sums(o: Opened, claimed: ast.expr, numbers: Collection[str]) -> Iterator[tuple[int, ast.expr]]:
    """Yield sums that give the open equation's values: in all events, or from the second on, with their sizes.

    Args:
        o: the open equation.
        claimed: its claimed right side.
        numbers: names of hyper-parameters and counts.
    """
    seen = np.isfinite(o.want)
    with np.errstate(all="ignore"):
        try:
            if (np.abs(value_of(claimed, o.values) - o.want) <= o.slack)[seen].all():
                return
        except KeyError:
            pass
    count = next((n for n in ("t", "event_number()") if n in o.values), "")
    later = seen & (o.values[count] > o.values[count][seen].min()) if count and seen.any() else seen
    for rows in (seen, later):
        found = _sum(o, numbers, rows)
        if not found:
            continue
        value = _written(found)
        if rows is seen:
            yield SIZE + len(found), value
        else:
            first = ast.Compare(ast.Name(count) if count == "t" else _parsed(count), [ast.Lt()], [ast.Constant(2)])
            yield SIZE + len(found) + 3, ast.IfExp(first, claimed, value)
        return


def _sum(o: Opened, numbers: Collection[str], rows: Array) -> dict[Term, Fraction]:
    """The terms of a sum with their coefficients; empty if no sum gives the values of these rows."""
    values = {n: v[rows] for n, v in o.values.items() if np.isfinite(v[rows]).all()}
    scalars = {n: v for n, v in values.items() if n in numbers or n == "steps"}
    vectors = [n for n in values if n not in scalars and VECTOR.fullmatch(n)]
    want, slack = o.want[rows], o.slack[rows]
    factors = [*_factors(scalars)]
    # What the rule makes comes last: it may be a sum of what the rule is given.
    made = {n for n in vectors if loaded(_parsed(n)) & o.box.made.keys()}
    order = sorted(vectors, key=_order)
    for most in (len(scalars) + 1, len(factors)):
        some = dict(factors[:most])
        terms = [(by, n) for inner in (False, True) for by in some for n in order if (n in made) is inner]
        if len(terms) > COLUMNS:
            break
        columns = [some[by] * values[n] for by, n in terms]
        kept = _independent(columns, len(want) // ROWS)
        if not kept:
            continue
        A = np.stack([columns[k] for k in kept], axis=1)
        size = np.linalg.norm(A, axis=0)
        q, r = np.linalg.qr(A / size)
        c = np.linalg.solve(r, q.T @ want) / size
        near = [Fraction(float(x)).limit_denominator(DENOMINATOR) for x in c]
        found = {terms[k]: f for k, f in zip(kept, near, strict=True) if f}
        if not found or len(found) > MOST or any(abs(float(f) - x) > NEAR for f, x in zip(near, c, strict=True)):
            continue
        total = sum(float(f) * columns[k] for k, f in zip(kept, near, strict=True))
        if (np.abs(total - want) <= slack + 1e-9 * np.abs(want).max()).all():
            return found
    return {}


KNOWN = "at_hand|of_state|rows_mean|old|x_0|new_model|mean_change"
VECTOR = re.compile(rf"(?:(?:W|at_hand\('W'\)) @ \(?)*(?:\w+|(?:{KNOWN})\('?[\w.]*'?\))\)*")
"""Pattern of a name, a value that the algorithm has, and a product of one and the mixing matrix."""


def _order(n: str) -> int:
    """Preference: of two terms that are the same, the first is written."""
    return (
        (not n.isidentifier()) + 2 * n.count("@") + 2 * n.startswith("at_hand") + 4 * n.startswith(("of_", "old", "x_"))
    )


def _factors(scalars: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    """Factors of terms: none, each number, products and quotients of two, and reciprocals."""
    one = np.ones_like(next(iter(scalars.values()))) if scalars else np.ones(1)
    yield "", one
    yield from scalars.items()
    yield from ((f"{a} * {b}", scalars[a] * scalars[b]) for a, b in combinations(scalars, 2))
    with np.errstate(all="ignore"):
        for n, v in scalars.items():
            if (v != 0).all():
                yield f"1 / {n}", one / v
        for a, b in combinations(scalars, 2):
            if (scalars[a] != 0).all() and (scalars[b] != 0).all():
                yield f"{a} / {b}", scalars[a] / scalars[b]
                yield f"{b} / {a}", scalars[b] / scalars[a]
                yield f"1 / ({a} * {b})", one / (scalars[a] * scalars[b])


def _independent(columns: Sequence[Array], most: int) -> list[int]:
    """Columns of which none is a sum of earlier ones; none if there are too many for the number of values."""
    basis, kept = np.zeros((0, len(columns[0]) if columns else 0)), list[int]()
    for k, column in enumerate(columns):
        rest = column.astype(float)
        length = np.linalg.norm(rest)
        if not length:
            continue
        for _ in range(2):
            rest = rest - (basis @ rest) @ basis
        left = np.linalg.norm(rest)
        if left > 1e-7 * length:
            basis = np.concatenate([basis, rest[None] / left])
            kept.append(k)
            if len(kept) > most:
                return []
    return kept


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _written(found: Mapping[Term, Fraction]) -> ast.expr:
    """The sum as an expression, the terms of one vector together and those that are added first."""
    factors: dict[str, list[tuple[str, Fraction]]] = {}
    for (by, n), c in found.items():
        factors.setdefault(n, []).append((by, c))
    out: ast.expr | None = None
    for n, some in sorted(factors.items(), key=lambda of: of[1][0][1] < 0):
        sign = -1 if some[0][1] < 0 else 1
        factor = _added([(by, sign * c) for by, c in some])
        vector = _parsed(n)
        term = vector if factor == "1" else ast.BinOp(_parsed(factor), ast.Mult(), vector)
        if out is None:
            out = term if sign > 0 else ast.UnaryOp(ast.USub(), term)
        else:
            out = ast.BinOp(out, ast.Add() if sign > 0 else ast.Sub(), term)
    assert out is not None
    return out


def _added(some: Sequence[tuple[str, Fraction]]) -> str:
    """The sum of some factors with their coefficients, as text."""
    said = ""
    for by, c in sorted(some, key=lambda one: one[1] < 0):
        size = abs(c)
        number = str(size) if size.denominator == 1 else f"({size.numerator} / {size.denominator})"
        one = by if by and size == 1 else " * ".join(filter(None, (number, by)))
        said += f" {'-' if c < 0 else '+'} {one}" if said else f"{'-' if c < 0 else ''}{one}"
    return said
