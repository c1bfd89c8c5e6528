"""Search in floats for a quadratic Lyapunov function that decreases in every round, by a linear matrix inequality.

With the state's vectors u before a round and u_+ after it, P is looked for with

    <P, Gram(u_+)> <= factor <P, Gram(u)>

wherever the functions are of their class. For a given factor this is linear in P and in the multipliers together
(as in AutoLyap and PEPit's searches for Lyapunov functions). Needs Clarabel, which checking does not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np

from fedspec_proofs.engines.worst_case.conic import Floats, Linear, largest, symmetric, unknowns
from fedspec_proofs.engines.worst_case.forms import Form
from fedspec_proofs.engines.worst_case.proof import semidefinite
from fedspec_proofs.engines.worst_case.solving import in_floats
from fedspec_proofs.engines.worst_case.values import Value, inner

Matrix = tuple[tuple[Fraction, ...], ...]

FLAT, STEEP = 1e-3, 1e3
"""Bounds on the eigenvalues of P, relative to P_11 = 1; a form that nearly ignores a vector gains nothing."""


def quadratic(P: Matrix, u: Sequence[Form]) -> Value:
    """Inner product <P, Gram(u)> of P with the Gram matrix of the vectors u."""
    return sum((c * inner(a, b) for row, a in zip(P, u, strict=True) for c, b in zip(row, u, strict=True)), Value())


def positive(P: Matrix) -> bool:
    """True if P is symmetric with smallest eigenvalue at least 1e-6, so that <P, Gram(u)> >= 1e-6 |u|^2."""
    n = len(P)
    symmetric = all(P[i][j] == P[j][i] for i in range(n) for j in range(n))
    return symmetric and semidefinite(
        [[c - (i == j) * Fraction(1, 10**6) for j, c in enumerate(row)] for i, row in enumerate(P)]
    )


def without(value: Value, names: Collection[str]) -> Value:
    """Drop the inner products that contain one of these vectors: the value if these vectors are zero."""
    return Value(
        {pair: c for pair, c in value.products.items() if not {*pair} & {*names}}, value.values, value.constant
    )


def fitted(
    before: Sequence[Form], after: Sequence[Form], given: Mapping[str, Value], factor: float
) -> tuple[float, Floats]:
    """P with the largest slack in the inequality, and that slack; a negative slack means that no P was found.

    Args:
        before: u, the vectors before the round.
        after: u_+, the vectors after the round, in the same order.
        given: inequalities that the functions satisfy.
        factor: factor by which the quadratic form must shrink.
    """
    n, E = len(before), symmetric(len(before))
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    ends, begins = ([(1 if i == j else 2) * inner(u[i], u[j]) for i, j in pairs] for u in (after, before))
    basis = sorted({name for v in (*ends, *begins, *given.values()) for pair in v.products for name in pair})
    names = sorted({name for v in given.values() for name in v.values})
    parts = [in_floats(q, basis, names) for q in given.values()]
    falls = [
        factor * in_floats(begin, basis, names)[0] - in_floats(end, basis, names)[0]
        for end, begin in zip(ends, begins, strict=True)
    ]
    # The unknowns are the entries of P, the multipliers, and the least eigenvalue that is left.
    R = np.stack([*falls, *(R_k for R_k, _, _ in parts), -np.eye(len(basis))], axis=-1)
    each = unknowns(R.shape[-1])
    P = np.concatenate([E, np.zeros((n, n, len(parts) + 1))], axis=-1)
    left = [Linear(np.array([*[0.0] * len(pairs), *column, 0.0])) for column in np.array([f for _, f, _ in parts]).T]
    found = largest(
        each[-1],
        zero=[each[0] - 1.0, *left],
        above=[*each[len(pairs) : -1], each[-1] * -1.0 + 1.0],
        semidefinite=[Linear(R), Linear(P, -FLAT * np.eye(n)), Linear(-P, STEEP * np.eye(n))],
    )
    return (found[0], E @ found[1][: len(pairs)]) if found else (-1.0, np.zeros((0, 0)))


def rounded(P: Floats, alike: Sequence[Sequence[int]], denominator: int) -> Matrix:
    """Round P to fractions, averaging entries that belong to interchangeable vectors."""
    n = len(P)
    of = {i: k for k, group in enumerate(alike) for i in group}
    found: dict[tuple[int, int, bool], list[float]] = {}
    for i in range(n):
        for j in range(n):
            found.setdefault((min(of[i], of[j]), max(of[i], of[j]), i == j), []).append(float(P[i, j]))
    means = {key: Fraction(round(float(np.mean(some)) * denominator), denominator) for key, some in found.items()}
    return tuple(tuple(means[min(of[i], of[j]), max(of[i], of[j]), i == j] for j in range(n)) for i in range(n))
