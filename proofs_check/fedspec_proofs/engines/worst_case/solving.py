"""Multipliers that prove a claim, and the worst case itself, by semidefinite programming.

What is found is in floating point and shows nothing by itself: multipliers are rounded to fractions and then checked by
:mod:`proof`. Needs cvxpy (with Clarabel), which checking does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from fedspec_proofs.engines.worst_case.certificates import Case, Certificate
from fedspec_proofs.engines.worst_case.proof import Problem, flaw, matrix, remainder
from fedspec_proofs.engines.worst_case.rates import RATE, flaw_between
from fedspec_proofs.engines.worst_case.values import Value

Floats = npt.NDArray[np.float64]

SMALL = 60
"""Denominators tried first: a tight proof has no room, but its multipliers are often such fractions."""

COMMON = (10**3, 10**4, 10**6, 10**9, 10**12)
"""Common denominators, tried one after another."""


@dataclass(frozen=True)
class Worst:
    """The largest value of what is claimed to be at most zero, in floating point.

    Attributes:
        value: that value; infinite where there is none.
        gram: the Gram matrix of the basis where it is attained.
        values: the function values there, by name.
    """

    value: float
    gram: Floats
    values: Mapping[str, float]


def _floats(value: Value, basis: list[str], names: list[str]) -> tuple[Floats, Floats, float]:
    R = np.array(matrix(value, basis), dtype=float).reshape(len(basis), len(basis))
    return R, np.array([float(value.values.get(n, 0)) for n in names]), float(value.constant)


def _names(problem: Problem) -> list[str]:
    return sorted({n for v in (problem.claimed, *problem.given.values()) for n in v.values})


def worst(problem: Problem) -> Worst:
    """The largest value of what is claimed, over all Gram matrices and values that obey what is given."""
    cp: Any = import_module("cvxpy")

    basis, names = problem.basis, _names(problem)
    G, f = cp.Variable((len(basis), len(basis)), PSD=True), cp.Variable(max(1, len(names)))

    def said(value: Value) -> Any:
        R, c, constant = _floats(value, basis, names)
        return cp.trace(R @ G) + (c @ f[: len(names)] if len(names) else 0) + constant

    program = cp.Problem(cp.Maximize(said(problem.claimed)), [said(q) <= 0 for q in problem.given.values()])
    program.solve(solver=cp.CLARABEL)
    if G.value is None:
        return Worst(float("inf"), np.zeros((0, 0)), {})
    return Worst(float(program.value), G.value, dict(zip(names, f.value, strict=False)))


def prove(problem: Problem) -> dict[str, Fraction]:
    """Multipliers that prove the claim exactly; none where none were found.

    Where half of a constant on the right side can be spared it is, so that the same multipliers serve rates nearby.
    """
    return (problem.claimed.constant < 0 and _proof(problem, 0.5)) or _proof(problem, 0.0)


def _proof(problem: Problem, spared: float) -> dict[str, Fraction]:
    """Those that leave the smallest eigenvalue as large as can be, rounded, the equalities restored in fractions."""
    cp: Any = import_module("cvxpy")

    basis, names = problem.basis, _names(problem)
    given = list(problem.given)
    multipliers, least = cp.Variable(len(given), nonneg=True), cp.Variable()
    parts = [_floats(problem.given[name], basis, names) for name in given]
    R0, f0, c0 = _floats(problem.claimed, basis, names)
    R = sum((multipliers[k] * parts[k][0] for k in range(len(given))), -R0)
    limits = [R >> least * np.eye(len(basis)), least <= 1]
    limits += [sum(multipliers[k] * parts[k][2] for k in range(len(given))) - c0 >= -spared * c0]
    if names:
        limits += [sum(multipliers[k] * parts[k][1] for k in range(len(given))) == f0]
    # Of all that leave as much, the smallest: rounding then moves the least.
    cp.Problem(cp.Maximize(least - 1e-6 * cp.sum(multipliers)), limits).solve(solver=cp.CLARABEL)
    if multipliers.value is None:
        return {}
    values = [max(0.0, float(v)) for v in multipliers.value]
    near = [[Fraction(v).limit_denominator(SMALL) for v in values]]
    near += [[Fraction(round(v * denominator), denominator) for v in values] for denominator in COMMON]
    for rounded in near:
        proof = restored(problem, dict(zip(given, rounded, strict=True)))
        if not flaw(problem, proof):
            return {name: c for name, c in proof.items() if c}
    return {}


MOST = 6
"""How often an interval of rates is halved."""


def certificate(case: Case) -> Certificate | None:
    """What proves a case, and how much of its right side the worst function needs; none where none was found.

    Rates are put between those of an interval until multipliers mixed of theirs prove all that lies between.
    """
    open_ = case.make(RATE) if case.low < case.high else None
    found = {rate: prove(case.make(rate)) for rate in dict.fromkeys((case.low, case.high))}
    left = [(case.low, case.high, MOST)]
    while left:
        low, high, more = left.pop()
        if not (found[low] and found[high]):
            return None
        if not flaw_between(open_, [(r, case.make(r), found[r]) for r in dict.fromkeys((low, high))]):
            continue
        if not more:
            return None
        middle = (low + high) / 2
        found[middle] = prove(case.make(middle))
        left += [(low, middle, more - 1), (middle, high, more - 1)]
    problem = case.make(case.high)
    right = -problem.claimed.constant
    ratio = round(1 + worst(problem).value / float(right), 6) if right > 0 else -1
    return Certificate({rate: found[rate] for rate in sorted(found)}, ratio)


def restored(problem: Problem, multipliers: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """The same with no function value left over: the largest ones take up what rounding has left."""
    left = dict(remainder(problem, multipliers).values)
    out = dict(multipliers)
    if not left:
        return out
    names = sorted({n for q in problem.given.values() for n in q.values})
    order = sorted(problem.given, key=lambda k: -multipliers.get(k, Fraction(0)))
    # Columns that are independent, eliminated as they come; with each, which multipliers make it.
    reduced: dict[str, tuple[dict[str, Fraction], dict[str, Fraction]]] = {}

    def reduce(vector: dict[str, Fraction], by: dict[str, Fraction]) -> None:
        for name in names:
            c = vector.get(name)
            if c and name in reduced:
                row, made = reduced[name]
                for k, v in row.items():
                    vector[k] = vector.get(k, Fraction(0)) - c * v
                for k, v in made.items():
                    by[k] = by.get(k, Fraction(0)) - c * v

    for key in order:
        vector, made = dict(problem.given[key].values), {key: Fraction(1)}
        reduce(vector, made)
        lead = next((n for n in names if vector.get(n)), None)
        if lead is not None:
            c = vector[lead]
            reduced[lead] = {k: v / c for k, v in vector.items() if v}, {k: v / c for k, v in made.items() if v}
    more: dict[str, Fraction] = {}
    reduce(left, more)
    return {k: out.get(k, Fraction(0)) + more.get(k, Fraction(0)) for k in {**out, **more}}
