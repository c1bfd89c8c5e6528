"""The best coefficients of a server, and functions that allow none better; by semidefinite programming, with cvxpy.

Whatever is found is rounded to fractions and checked as :mod:`coefficients` says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from operator import mul
from typing import Any

import numpy as np

from fedspec_proofs.coefficients import Ways, Weighed, least, off_plane, plane_of, problem_of
from fedspec_proofs.contraction_search import DIGITS, UncertifiedError
from fedspec_proofs.engines.worst_case.attained import Attained, unfit
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.engines.worst_case.solving import ROOMS, Worst, closer, fractions_of, in_floats, prove, worst
from fedspec_proofs.engines.worst_case.values import inner

DENOMINATORS = (1, 2, 4, 8, 10, 20, 50, 100, 1000)
"""Of the coefficients: the first that costs no more than :data:`LOST` is kept."""

LOST = 5e-4
NONE = 1e-3
"""A part of a thousandth: what a number in floats may be too large by, where the proof has no room."""


@dataclass(frozen=True)
class Best:
    """What is proved of the best coefficients.

    Attributes:
        round: the round with them.
        bound: what |x_+ - x*|^2 is at most, with multipliers that prove it.
        proof: the multipliers.
        least: what no coefficients are surely below, with functions that show it.
        functions: the functions.
    """

    round: Weighed
    bound: Fraction
    proof: dict[str, Fraction]
    least: Fraction
    functions: Attained


def best(r: Weighed, ways: Ways) -> Best:
    """The best coefficients, of all or of those that are made so; those of the round do not count.

    Raises:
        UncertifiedError: no multipliers or no functions were found.
    """
    value, found = _upper(r, ways)
    for denominator in DENOMINATORS:
        factors = [Fraction(round(c * denominator), denominator) for c in found]
        columns = zip(*ways, strict=True)
        one = replace(r, w=tuple(sum(map(mul, factors, column), Fraction(0)) for column in columns))
        reached = worst(problem_of(one)).value
        if reached <= value + LOST:
            break
    bound, proof = proved(one)
    functions = _lower(one, ways)
    return Best(one, bound, proof, least(one, functions, ways), functions)


def proved(r: Weighed) -> tuple[Fraction, dict[str, Fraction]]:
    """The number of a round, rounded up to a thousandth that multipliers prove, and these.

    Raises:
        UncertifiedError: none were found.
    """
    first = math.ceil(worst(problem_of(r)).value * DIGITS - NONE)
    for more in range(4):
        bound = Fraction(first + more, DIGITS)
        claim = problem_of(r, bound)
        proof = prove(claim)
        if proof and not flaw(claim, proof):
            return bound, proof
    raise UncertifiedError(f"coefficients: no certificate for {r} near {first / DIGITS}")


def _upper(r: Weighed, ways: Ways) -> tuple[float, list[float]]:
    """The least number and its coefficients: multipliers and w together, by a Schur complement."""
    cp: Any = import_module("cvxpy")
    problem, x, moves = plane_of(r, ways)
    names = problem.basis
    values = sorted({n for q in problem.given.values() for n in q.values})
    parts = [in_floats(q, names, values) for q in problem.given.values()]
    multipliers, w = cp.Variable(len(parts), nonneg=True), cp.Variable(len(moves))

    def column(y: Any) -> Any:
        of = dict(y.parts)
        return np.array([[float(of.get(n, 0))] for n in names])

    R = sum(multipliers[k] * R_k for k, (R_k, _, _) in enumerate(parts))
    u = column(x) + sum(w[k] * column(d) for k, d in enumerate(moves))
    limits = [cp.bmat([[R, u], [u.T, np.ones((1, 1))]]) >> 0]
    limits += [sum(multipliers[k] * f for k, (_, f, _) in enumerate(parts)) == 0]
    program = cp.Problem(cp.Minimize(-sum(multipliers[k] * c for k, (_, _, c) in enumerate(parts))), limits)
    program.solve(solver=cp.CLARABEL)
    return float(program.value), [float(c) for c in w.value]


def _lower(r: Weighed, ways: Ways) -> Attained:
    """Functions at which the plane of all w is as far from x* as can be, in fractions."""
    problem, x, moves = plane_of(r, ways)
    best: tuple[Fraction, Attained] | None = None
    for room in ROOMS:
        for found in fractions_of(_spread(r, ways, room)):
            if unfit(problem, found):
                continue
            off = off_plane(found.at(x), [found.at(d) for d in moves])
            if best is None or off > best[0]:
                best = off, found
        if best:
            return best[1]
    raise UncertifiedError(f"coefficients: no functions for {r}")


def _spread(r: Weighed, ways: Ways, room: float) -> Worst:
    """The same in floats: the Gram matrix of x and all changes, less a share of <x, x>, is positive semidefinite."""
    cp: Any = import_module("cvxpy")
    problem, x, moves = plane_of(r, ways)
    names = problem.basis
    values = sorted({n for q in problem.given.values() for n in q.values})
    G, f, far = cp.Variable((len(names),) * 2, PSD=True), cp.Variable(max(1, len(values))), cp.Variable()
    T = closer(names, 0.1)

    def said(value: Any) -> Any:
        R, c, constant = in_floats(value, names, values)
        return cp.trace(T.T @ R @ T @ G) + c @ f[: len(values)] + constant

    seen = [x, *moves]
    M = cp.bmat(
        [[said(inner(a, b)) - (far if i == j == 0 else 0) for j, b in enumerate(seen)] for i, a in enumerate(seen)]
    )
    limits = [said(q) <= -room for q in problem.given.values()] + [M >> 0]
    program = cp.Problem(cp.Maximize(far), limits)
    program.solve(solver=cp.CLARABEL)
    return Worst(float(program.value), names, T @ G.value @ T.T, dict(zip(values, f.value, strict=True)))
