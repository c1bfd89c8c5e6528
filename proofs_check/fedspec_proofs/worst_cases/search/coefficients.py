"""Search for the best server coefficients, and for functions that prove them optimal, by semidefinite programming.

Whatever is found is rounded to fractions and checked as :mod:`fedspec_proofs.worst_cases.coefficients` says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import mul

import numpy as np

from fedspec_proofs.engines.worst_case import solving
from fedspec_proofs.engines.worst_case.attained import Attained, unfit
from fedspec_proofs.engines.worst_case.conic import Floats, Linear, largest, unknowns
from fedspec_proofs.engines.worst_case.forms import Form
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import inner
from fedspec_proofs.worst_cases.coefficients import Ways, Weighed, least, off_plane, plane_of, problem_of
from fedspec_proofs.worst_cases.search.one_round import DIGITS, UNIT, UncertifiedError

DENOMINATORS = (1, 2, 4, 8, 10, 20, 50, 100, 1000)
"""Denominators of coefficients to try; the first whose bound is worse by at most :data:`LOST` is used."""

LOST = 5e-4
NONE = 1e-3
"""Numerical error, in thousandths, that a float is assumed to have before it is rounded up."""


@dataclass(frozen=True)
class Best:
    """Best coefficients with proofs of their upper and lower bound.

    Attributes:
        round: the round with the best coefficients.
        bound: upper bound of |x_+ - x*|^2, with multipliers that prove it.
        proof: the multipliers of the upper bound.
        least: lower bound for all coefficients, proved by ``functions``.
        functions: clients' functions for which no coefficients come nearer.
    """

    round: Weighed
    bound: Fraction
    proof: dict[str, Fraction]
    least: Fraction
    functions: Attained


def best(r: Weighed, ways: Ways) -> Best:
    """Find the best coefficients within the span of these directions; the coefficients of ``r`` are ignored.

    Raises:
        UncertifiedError: the search found no multipliers or no functions.
    """
    plane = plane_of(r, ways)
    value, found = _upper(plane)
    for denominator in DENOMINATORS:
        factors = [Fraction(round(c * denominator), denominator) for c in found]
        columns = zip(*ways, strict=True)
        one = replace(r, w=tuple(sum(map(mul, factors, column), Fraction(0)) for column in columns))
        reached = solving.worst(problem_of(one)).value
        if reached <= value + LOST:
            break
    bound, proof = proved(one)
    functions = _lower(plane)
    return Best(one, bound, proof, least(one, functions, ways), functions)


def proved(r: Weighed) -> tuple[Fraction, dict[str, Fraction]]:
    """Bound of a round, rounded up to a thousandth that multipliers prove, and the multipliers.

    Raises:
        UncertifiedError: the search found no multipliers.
    """
    first = math.ceil(solving.worst(problem_of(r)).value * DIGITS - NONE)
    found = solving.first_proved(first, UNIT, partial(problem_of, r))
    if found is None:
        raise UncertifiedError(f"coefficients: found no certificate of a bound near {first / DIGITS} for {r}")
    return found


Plane = tuple[Problem, Form, list[Form]]
"""Given inequalities, the form x - x*, and the change of x along each direction of w."""


def _upper(plane: Plane) -> tuple[float, list[float]]:
    """The least number and its coefficients: multipliers and w together, by a Schur complement."""
    problem, x, moves = plane
    names, values = problem.basis, solving.value_names(problem)
    parts = [solving.in_floats(q, names, values) for q in problem.given.values()]

    def column(y: Form) -> Floats:
        of = dict(y.parts)
        return np.array([float(of.get(n, 0)) for n in names])

    # The unknowns are the multipliers and w: the matrix that is left has the vector that x_+ is as its last row.
    n = len(names)
    M = Linear(np.zeros((n + 1, n + 1, len(parts) + len(moves))), np.zeros((n + 1, n + 1)))
    M.b[:n, n] = M.b[n, :n] = column(x)
    M.b[n, n] = 1
    for k, (R_k, _, _) in enumerate(parts):
        M.c[:n, :n, k] = R_k
    for k, move in enumerate(moves, len(parts)):
        M.c[:n, n, k] = M.c[n, :n, k] = column(move)
    none = [0.0] * len(moves)
    left = [Linear(np.array([*each, *none])) for each in np.array([f for _, f, _ in parts]).T]
    aim = Linear(np.array([*(float(c) for _, _, c in parts), *none]))
    found = largest(aim, zero=left, above=unknowns(len(aim.c))[: len(parts)], semidefinite=[M])
    if found is None:
        raise UncertifiedError("coefficients: the semidefinite program found no optimal coefficients")
    return -found[0], [float(c) for c in found[1][len(parts) :]]


def _lower(plane: Plane) -> Attained:
    """Functions at which the plane of all w is as far from x* as can be, in fractions."""
    problem, x, moves = plane
    for room in solving.ROOMS:
        fit = [found for found in solving.fractions_of(_spread(plane, room)) if not unfit(problem, found)]
        if fit:
            return max(fit, key=lambda found: off_plane(found.at(x), [found.at(move) for move in moves]))
    raise UncertifiedError("coefficients: found no functions in fractions that prove the lower bound")


def _spread(plane: Plane, room: float) -> solving.Worst:
    """Worst functions in floats: the Gram matrix of x and all changes, less a share of <x, x>, is positive
    semidefinite."""
    problem, x, moves = plane
    said, gram, there = solving.unknown(problem, more=1)
    seen = [x, *moves]
    entries = [[said(inner(a, b)) for b in seen] for a in seen]
    M = Linear(np.array([[e.c for e in row] for row in entries]), np.array([[e.b for e in row] for row in entries]))
    M.c[0, 0, -1] -= 1
    above = [said(q) * -1.0 - room for q in problem.given.values()]
    far = unknowns(M.c.shape[-1])[-1]
    return there(largest(far, above=above, semidefinite=[gram, M]))
