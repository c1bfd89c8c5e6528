"""A quadratic form that falls in every round, found by a linear matrix inequality in floats, to be certified.

With the state's vectors u before a round and u_+ after it, P is looked for with

    <P, Gram(u_+)> <= factor <P, Gram(u)>

wherever the functions are of their class. For a given factor this is linear in P and in the multipliers together
(as in AutoLyap and PEPit's searches for Lyapunov functions). Needs cvxpy (with Clarabel), which checking does not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from fedspec_proofs.engines.worst_case.forms import Form
from fedspec_proofs.engines.worst_case.proof import semidefinite
from fedspec_proofs.engines.worst_case.solving import Floats, in_floats
from fedspec_proofs.engines.worst_case.values import Value, inner

Matrix = tuple[tuple[Fraction, ...], ...]

FLAT, STEEP = 1e-3, 1e3
"""Between these, P_11 = 1, all eigenvalues of P are kept: nothing is gained by a form that nearly forgets a vector."""


def quadratic(P: Matrix, u: Sequence[Form]) -> Value:
    """<P, Gram(u)>."""
    return sum((c * inner(a, b) for row, a in zip(P, u, strict=True) for c, b in zip(row, u, strict=True)), Value())


def positive(P: Matrix) -> bool:
    """Whether P less a little of the identity has no negative eigenvalue: <P, Gram(u)> is then above that |u|^2."""
    n = len(P)
    symmetric = all(P[i][j] == P[j][i] for i in range(n) for j in range(n))
    return symmetric and semidefinite(
        [[c - (i == j) * Fraction(1, 10**6) for j, c in enumerate(row)] for i, row in enumerate(P)]
    )


def without(value: Value, names: Collection[str]) -> Value:
    """A value where some vectors are zero."""
    return Value(
        {pair: c for pair, c in value.products.items() if not {*pair} & {*names}}, value.values, value.constant
    )


def fitted(
    before: Sequence[Form], after: Sequence[Form], given: Mapping[str, Value], factor: float
) -> tuple[float, Floats]:
    """The P for which the inequality has most room, and the room: none that is below zero.

    Args:
        before: u.
        after: u_+, in the same order.
        given: what the functions obey.
        factor: by which the form is to fall.
    """
    cp: Any = import_module("cvxpy")

    n = len(before)
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    twice = {p: 1 if p[0] == p[1] else 2 for p in pairs}
    ends, begins = ([twice[i, j] * inner(u[i], u[j]) for i, j in pairs] for u in (after, before))
    basis = sorted({name for v in (*ends, *begins, *given.values()) for pair in v.products for name in pair})
    names = sorted({name for v in given.values() for name in v.values})
    P, multipliers, least = cp.Variable((n, n), symmetric=True), cp.Variable(len(given), nonneg=True), cp.Variable()
    parts = [in_floats(q, basis, names) for q in given.values()]
    R = sum(multipliers[k] * R_k for k, (R_k, _, _) in enumerate(parts))
    for (i, j), end, begin in zip(pairs, ends, begins, strict=True):
        R = R - P[i, j] * (in_floats(end, basis, names)[0] - factor * in_floats(begin, basis, names)[0])
    limits = [R >> least * np.eye(len(basis)), least <= 1, P[0, 0] == 1, P >> FLAT * np.eye(n), P << STEEP * np.eye(n)]
    limits += [sum(multipliers[k] * f for k, (_, f, _) in enumerate(parts)) == 0]
    try:
        cp.Problem(cp.Maximize(least), limits).solve(solver=cp.CLARABEL)
    except cp.SolverError:
        return -1.0, np.zeros((0, 0))
    return (-1.0, np.zeros((0, 0))) if P.value is None else (float(least.value), P.value)


def rounded(P: Floats, alike: Sequence[Sequence[int]], denominator: int) -> Matrix:
    """P in fractions, the same whoever of those that are alike is called first."""
    n = len(P)
    of = {i: k for k, group in enumerate(alike) for i in group}
    found: dict[tuple[int, int, bool], list[float]] = {}
    for i in range(n):
        for j in range(n):
            found.setdefault((min(of[i], of[j]), max(of[i], of[j]), i == j), []).append(float(P[i, j]))
    means = {key: Fraction(round(float(np.mean(some)) * denominator), denominator) for key, some in found.items()}
    return tuple(tuple(means[min(of[i], of[j]), max(of[i], of[j]), i == j] for j in range(n)) for i in range(n))
