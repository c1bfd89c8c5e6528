"""Worst case of rounds of any algorithm: found by semidefinite programming, then proved; needs Clarabel.

Several rounds are one program, or a chain of single rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, overload

from fedspec.errors import FedspecError
from fedspec_proofs.engines.draw import curried
from fedspec_proofs.engines.worst_case.attained import Attained, replayed, share
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.solving import attaining, first_proved, worst
from fedspec_proofs.engines.worst_case.values import Value
from fedspec_proofs.worst_cases.any_rounds import Rounds, problem_of
from fedspec_proofs.worst_cases.search.forms import R, certified
from fedspec_proofs.worst_cases.search.one_round import DIGITS as THOUSAND
from fedspec_proofs.worst_cases.search.one_round import UNIT, Certified, UncertifiedError
from fedspec_proofs.worst_cases.several_rounds import Several
from fedspec_proofs.worst_cases.several_rounds import problem_of as several_of

DIGITS = 3
"""Significant digits to which a bound is rounded up if it is below 1; larger bounds are rounded up to a thousandth."""


class NoWorstCaseError(FedspecError):
    """No worst case, or no certificate of it, was found."""


@dataclass(frozen=True)
class Found:
    """Certified worst case: a bound, its multipliers, and functions that come near it.

    Attributes:
        asked: the question, as :class:`Rounds`.
        bound: upper bound of |x_R - x*|^2, proved by multipliers that were checked in fractions.
        proof: the multipliers of the proof.
        attained: functions in fractions whose distance is near the bound; None if rounding found none.
        reached: |x_R - x*|^2 for these functions.
        worst: |x_R - x*|^2 at the optimum of the program, in floats.
    """

    asked: Rounds
    bound: Fraction
    proof: Mapping[str, Fraction]
    attained: Attained | None
    reached: Fraction | None
    worst: float


@overload
def worst_case(asked: Rounds) -> Found: ...


@overload
def worst_case(asked: R) -> Certified[R]: ...


def worst_case(asked: Any) -> Any:
    """Find the worst case: a rounded bound that multipliers prove, and functions that come near it.

    Of an exchange, a server that keeps something, a compressor or a class of matrices (Exchanged, Outer, Compressed,
    Mixed) it is the factor of a form that falls, found by :func:`fedspec_proofs.worst_cases.search.forms.certified`.

    Raises:
        NotLinearError: a round is not linear.
        NoWorstCaseError: no worst case or no certificate was found.
        UncertifiedError: the search found no certificate for a Lyapunov function.
    """
    if not isinstance(asked, Rounds):
        return certified(asked)
    problem = problem_of(asked)
    value = worst(problem).value
    if not math.isfinite(value):
        raise NoWorstCaseError(f"worst-case: {asked.row.id}: the program found no finite bound for these parameters")
    unit = min(UNIT, Fraction(10) ** (math.floor(math.log10(max(value, 1e-9))) - DIGITS + 1))
    claim_of = _claims(problem)
    proved = first_proved(math.ceil(value / float(unit)), unit, claim_of)
    if proved is None:
        raise NoWorstCaseError(f"worst-case: {asked.row.id}: found no certificate of a bound near {value:.6g}")
    bound, proof = proved
    claim = claim_of(bound)
    found = attaining(claim)
    if found and claim.play and (wrong := replayed(claim.play, found)):
        raise NoWorstCaseError(f"worst-case: {asked.row.id}: {wrong}")
    return Found(asked, bound, proof, found, share(claim, found) * bound if found else None, value)


@curried
def _claims(bound: Fraction, problem: Problem, start: Fraction = Fraction(1)) -> Problem:
    """Function that claims a bound, in units of ``start``, of what the problem bounds by zero."""
    right = Value(constant=bound / start)
    return replace(problem, claimed=problem.claimed - right, right=right)


def several_certified(r: Several) -> Certified[Several]:
    """Worst case of several rounds, rounded up to the next thousandth that multipliers prove.

    Raises:
        UncertifiedError: the search found no multipliers.
    """
    problem = several_of(r, Fraction(0))
    value, claim_of = worst(problem).value * float(r.start), _claims(problem, r.start)
    found = first_proved(math.ceil(value * THOUSAND), UNIT, claim_of, spared=()) if math.isfinite(value) else None
    if found is None:
        raise UncertifiedError(f"several rounds: found no certificate of a bound near {value} for {r}")
    return Certified(r, value, *found)


def chain(r: Several) -> Iterator[Certified[Several]]:
    """Certify the rounds one after another, each starting from the bound of the previous one."""
    start = r.start
    for _ in range(r.rounds):
        link = several_certified(replace(r, rounds=1, start=start))
        yield link
        start = link.bound
