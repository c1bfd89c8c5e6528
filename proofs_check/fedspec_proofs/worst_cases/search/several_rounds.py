"""Several rounds as one program, and as a chain of single rounds, by semidefinite programming."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.solving import first_proved, worst
from fedspec_proofs.engines.worst_case.values import Value
from fedspec_proofs.worst_cases.search.one_round import DIGITS, UNIT, Certified, UncertifiedError
from fedspec_proofs.worst_cases.several_rounds import Several, problem_of


def certified(r: Several) -> Certified[Several]:
    """Worst case, rounded up to the next thousandth that multipliers prove.

    Raises:
        UncertifiedError: the search found no multipliers.
    """
    problem = problem_of(r, Fraction(0))
    value = worst(problem).value * float(r.start)

    def claim_of(bound: Fraction) -> Problem:
        right = Value(constant=bound / r.start)
        return replace(problem, claimed=problem.claimed - right, right=right)

    found = first_proved(math.ceil(value * DIGITS), UNIT, claim_of, spared=()) if math.isfinite(value) else None
    if found is None:
        raise UncertifiedError(f"several rounds: found no certificate of a bound near {value} for {r}")
    return Certified(r, value, *found)


def chain(r: Several) -> Iterator[Certified[Several]]:
    """Certify the rounds one after another, each starting from the bound of the previous one."""
    start = r.start
    for _ in range(r.rounds):
        link = certified(replace(r, rounds=1, start=start))
        yield link
        start = link.bound
