"""Search for multipliers that prove a claim, and for its worst-case functions, by semidefinite programming.

What is found is in floating point and shows nothing by itself: multipliers are rounded to fractions and then checked by
:mod:`proof`. Needs Clarabel, which checking does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from fedspec_proofs.engines.worst_case.attained import Attained, share, unfit
from fedspec_proofs.engines.worst_case.certificates import TIGHT, Case, Certificate, Needs
from fedspec_proofs.engines.worst_case.conic import Floats, Linear, largest, symmetric, unknowns
from fedspec_proofs.engines.worst_case.open_rate import RATE
from fedspec_proofs.engines.worst_case.proof import Problem, flaw, matrix, remainder
from fedspec_proofs.engines.worst_case.rates import flaw_between
from fedspec_proofs.engines.worst_case.values import Value

SMALL = 60
"""Largest denominator tried first: a tight proof leaves no slack, but its multipliers often have small denominators."""

COMMON = (10**3, 10**4, 10**6, 10**9, 10**12)
"""Common denominators for rounding, tried in this order."""


@dataclass(frozen=True)
class Worst:
    """Solution of a worst-case program in floating point: its value, Gram matrix and function values.

    Attributes:
        value: the optimal value; infinite if the program is unbounded.
        names: names of the basis vectors.
        gram: Gram matrix of the basis vectors at the optimum.
        values: the function values at the optimum, by name.
    """

    value: float
    names: list[str]
    gram: Floats
    values: Mapping[str, float]


def in_floats(value: Value, basis: list[str], names: list[str]) -> tuple[Floats, Floats, float]:
    """Convert a value to floats: matrix of its products over a basis, coefficients of function values, constant."""
    R = np.array(matrix(value, basis), dtype=float).reshape(len(basis), len(basis))
    return R, np.array([float(value.values.get(n, 0)) for n in names]), float(value.constant)


def value_names(problem: Problem) -> list[str]:
    return sorted({n for v in (problem.claimed, *problem.given.values()) for n in v.values})


def _closer(basis: list[str], scale: float) -> Floats:
    """The basis, by one that has a gradient's difference from its client's first one, enlarged, in place of it.

    Those of a round with small rates are nearly alike, which costs the program its accuracy.
    """
    T = np.eye(len(basis))
    for i, name in enumerate(basis):
        of, _, k = name.rpartition(".g")
        if of and k != "0" and f"{of}.g0" in basis:
            T[i, i], T[i, basis.index(f"{of}.g0")] = scale, 1
    return T


def worst(problem: Problem, room: float | None = None, scale: float = 0.1) -> Worst:
    """Maximise the claimed expression over all Gram matrices and values that satisfy the given inequalities.

    With a room, what is given holds with that much of the right side to spare, and the value is left over right side.
    """
    said, limits, there = unknown(problem, scale)
    fixed = 1.0 if problem.right.products else float(problem.right.constant) or 1.0
    above = [said(q) * -1.0 - (room or 0) * fixed for q in problem.given.values()]
    if room is not None and problem.right.products:
        above.append(said(problem.right) * -1.0 + fixed)
    aim = said(problem.claimed if room is None else problem.claimed + problem.right) * (
        1 if room is None else 1 / fixed
    )
    return there(largest(aim, above=above, semidefinite=[limits]))


def unknown(
    problem: Problem, scale: float = 0.1, more: int = 0
) -> tuple[Callable[[Value], Linear], Linear, Callable[[tuple[float, Floats] | None], Worst]]:
    """Unknown Gram matrix and values of a program: converter of values, the matrix, and reader of the solution.

    Args:
        problem: the worst-case problem.
        scale: factor that makes later gradients comparable in size with the first gradient.
        more: number of further unknowns, which come after the Gram matrix and the values.
    """
    basis, names = problem.basis, value_names(problem)
    T, E = _closer(basis, scale), symmetric(len(basis))
    half = E.shape[-1]
    G = np.concatenate([E, np.zeros((*E.shape[:2], len(names) + more))], axis=-1)

    def said(value: Value) -> Linear:
        R, c, constant = in_floats(value, basis, names)
        return Linear(np.concatenate([np.einsum("ij,ijk->k", T.T @ R @ T, E), c, np.zeros(more)]), constant)

    def there(found: tuple[float, Floats] | None) -> Worst:
        if found is None:
            return Worst(float("inf"), [], np.zeros((0, 0)), {})
        value, z = found
        return Worst(value, basis, T @ (E @ z[:half]) @ T.T, dict(zip(names, z[half:], strict=False)))

    return said, Linear(G), there


SPARED = (0.5, 0.1, 0.02, 0.005)
"""Parts of the right side's constant to keep as slack, tried from the largest."""


def prove(problem: Problem, spared: Sequence[float] = SPARED) -> dict[str, Fraction]:
    """Search for multipliers that prove the claim exactly; empty if none were found.

    What can be spared of a constant on the right side is, so that the same multipliers serve rates nearby.
    """
    for part in spared if problem.claimed.constant < 0 else ():
        found = _proof(problem, part)
        if found:
            return found
    return _proof(problem, 0.0)


def first_proved(
    first: int,
    unit: Fraction,
    claim_of: Callable[[Fraction], Problem],
    simpler: Callable[[Problem], Problem] = lambda claim: claim,
    more: Mapping[str, Fraction] | None = None,
    spared: Sequence[float] = SPARED,
) -> tuple[Fraction, dict[str, Fraction]] | None:
    """First of the bounds ``first * unit``, ... that multipliers prove, with these; None if four bounds are not proved.

    Multipliers are looked for on a problem that may be simpler, and checked on the claim itself; some may be added that
    the simpler problem does not need.
    """
    for k in range(4):
        bound = unit * (first + k)
        claim = claim_of(bound)
        proof = prove(simpler(claim), spared)
        proof = {**proof, **(more or {})} if proof else {}
        if proof and not flaw(claim, proof):
            return bound, proof
    return None


def _proof(problem: Problem, spared: float) -> dict[str, Fraction]:
    """Multipliers that leave the smallest eigenvalue as large as can be, rounded, with exact equalities."""
    basis, names = problem.basis, value_names(problem)
    given = list(problem.given)
    parts = [in_floats(problem.given[name], basis, names) for name in given]
    R0, f0, c0 = in_floats(problem.claimed, basis, names)
    *multipliers, least = unknowns(len(given) + 1)
    n = len(basis)
    R = np.stack([*(part[0] for part in parts), -np.eye(n)], axis=-1) if n else np.zeros((0, 0, len(given) + 1))
    room = Linear(np.array([*(float(part[2]) for part in parts), 0.0]), (spared - 1) * c0)
    left = [
        Linear(np.array([*column, 0.0]), -c) for column, c in zip(np.array([p[1] for p in parts]).T, f0, strict=True)
    ]
    # Of all that leave as much, the smallest: rounding then moves the least.
    aim = Linear(np.array([*[-1e-6] * len(given), 1.0]))
    found = largest(aim, zero=left, above=[*multipliers, least * -1.0 + 1.0, room], semidefinite=[Linear(R, -R0)])
    if found is None:
        return {}
    values = [max(0.0, float(v)) for v in found[1][:-1]]
    near = [[Fraction(v).limit_denominator(SMALL) for v in values]]
    near += [[Fraction(round(v * denominator), denominator) for v in values] for denominator in COMMON]
    for rounded in near:
        proof = restored(problem, dict(zip(given, rounded, strict=True)))
        if not flaw(problem, proof):
            return {name: c for name, c in proof.items() if c}
    return {}


MOST = 6
"""Number of times that an interval of rates may be halved."""


def certificate(case: Case) -> Certificate | None:
    """Certificate of a case, with the part of its right side that the worst function needs; None if none was found.

    Rates are put between those of an interval until mixed multipliers of neighbouring rates prove all rates between
    them.
    """
    if not case.holds:
        broken = attaining(case.make(case.high))
        return Certificate({}, Needs(Fraction(0), {}, broken)) if broken else None
    open_ = case.make(RATE) if case.low < case.high else None
    found = {rate: prove(case.make(rate)) for rate in dict.fromkeys((case.low, case.high))}
    left = [(case.low, case.high, MOST)]
    while left:
        low, high, more = left.pop()
        if not (found[low] and found[high]):
            return None
        if open_ is None or not flaw_between(open_, {low: found[low], high: found[high]}):
            continue
        if not more:
            return None
        middle = (low + high) / 2
        found[middle] = prove(case.make(middle))
        left += [(low, middle, more - 1), (middle, high, more - 1)]
    problem = case.make(case.high)
    lacking = {term: _lacking(problem.lacking(term)) for term in (problem.terms if case.drop else ())}
    needs = _needs(problem, found[case.high])
    return Certificate({rate: found[rate] for rate in sorted(found)}, needs, lacking)


def _lacking(problem: Problem) -> Attained | Mapping[str, Fraction] | None:
    """Functions that break a claim without a term, or what proves it all the same; neither where none was found."""
    proof = prove(problem)
    if proof or problem.relaxed:
        return proof or None
    found = attaining(problem)
    return found if found and share(problem, found) > 1 else None


def _needs(problem: Problem, proof: Mapping[str, Fraction]) -> Needs | None:
    """Part of its right side that a claim needs; None if it has no right side or no functions were found."""
    if not (problem.right.constant or problem.right.products or problem.right.values):
        return None
    if problem.relaxed:
        for most in PARTS:
            less = prove(problem.within(most))
            if less:
                return Needs(most, less, None)
        return None
    found = attaining(problem)
    if found is None:
        return None
    least = share(problem, found)
    if least >= TIGHT:
        return Needs(Fraction(1), {}, found)
    for more in (3, 10, 100):
        unit = Fraction(10) ** (math.floor(math.log10(least)) - 3)
        most = unit * (math.ceil(least / unit) + more)
        less = prove(problem.within(most))
        if less:
            return Needs(most, less, found)
    return Needs(Fraction(1), proof, found)


PARTS = (*(Fraction(1, k) for k in (100, 50, 20, 10, 5, 4, 3, 2)), Fraction(3, 4), Fraction(9, 10))
"""Parts of a right side to try, in increasing order, if no worst-case functions are constructed."""

ROOMS = (1e-7, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3)
"""Slacks, relative to the right side, in the given inequalities, which leave room to round the functions."""

SCALES = (0.1, 1.0, 0.01)
"""Scales of later gradients relative to the first one; the second and third are tried if the first finds nothing."""

RANKS = (1e-3, 1e-5, 1e-7, 1e-9)
"""Relative size below which eigenvalues of the Gram matrix, and their directions, are dropped."""

NEAR = 1 - 2e-4
"""Part of the worst case at which the search for functions stops."""


def attaining(problem: Problem) -> Attained | None:
    """Search for functions, in fractions, that come near the worst case of a claim; None if none were found."""
    best: Attained | None = None
    goal = 0.0
    for scale, room in product(SCALES, ROOMS):
        if best and scale != SCALES[0]:
            break
        there = worst(problem, room, scale)
        if not there.names:
            continue
        goal = max(goal, there.value)
        for rounded in fractions_of(there):
            if not unfit(problem, rounded) and (best is None or _aim(problem, rounded) > _aim(problem, best)):
                best = rounded
                if _aim(problem, best) >= NEAR * goal:
                    return best
    return best


def fractions_of(there: Worst) -> Iterator[Attained]:
    """Round a Gram matrix and values to vectors in fractions, with more and more directions and digits."""
    size, ways = np.linalg.eigh(there.gram)
    for rank in RANKS:
        kept = size > rank * size.max()
        factor = ways[:, kept] * np.sqrt(size[kept])
        # Rotated so that the first vectors have few coordinates.
        factor = factor @ np.linalg.qr(factor.T)[0]
        for denominator in (10**3, 10**5, 10**7, 10**9):
            yield Attained(
                {n: tuple(_near(c, denominator) for c in row) for n, row in zip(there.names, factor, strict=True)},
                {n: _near(f, denominator**2) for n, f in there.values.items()},
            )


def _aim(problem: Problem, found: Attained) -> Fraction:
    """Number that is maximised: left over right side, or the left side if there is no right one."""
    return share(problem, found) if found.of(problem.right) else found.of(problem.claimed)


def _near(c: float, denominator: int) -> Fraction:
    return Fraction(round(float(c) * denominator), denominator)


def restored(problem: Problem, multipliers: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Adjust multipliers so that function values cancel exactly; the largest ones absorb the rounding error."""
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
