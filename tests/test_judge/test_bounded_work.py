"""No candidate of a diagnosis loops over more than a case has, whatever stands for a count in it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from fedspec.contract import Offer
from fedspec.mixing.accumulation import accumulation
from fedspec.readings import Solver
from fedspec_suite.diagnosis.edits.unguarded import MOST, few, unguarded
from fedspec_suite.diagnosis.known import Known, known_of
from fedspec_suite.diagnosis.variants import CANNOT
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import Mutant


def known(algorithm: str = "fednova", level: str = "round", **options: str) -> Known:
    return known_of(setting_of(Offer(algorithm, level, "fednova", options)))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_limit_that_a_rule_sets_stands_for_no_count() -> None:
    words = [v.words for v in known(solver="momentum").mechanical]
    assert len(words) > 1000
    assert [w for w in words if re.match(r"(the old )?(2 \*\* [12]4|longest) stands", w)] == []


def test_a_rule_that_loops_for_longer_than_a_case_gives_no_answer() -> None:
    far = known(solver="momentum")

    def answers(tau: str) -> int:
        count = Mutant(
            id=tau,
            words="",
            algorithms=(),
            rule="fedspec.mixing.accumulation.accumulation",
            old="range(tau)",
            new=f"range({tau})",
        )
        v = replace(far.claimed, mutants=(count,))
        try:
            return len(list(v.quick(far.samples[0], v.editions()())))
        except CANNOT:
            return 0

    assert answers("tau + 1") == len(far.samples[0].events)
    assert answers(f"tau + {MOST}") == 0


def test_outside_a_candidate_nothing_is_bounded() -> None:
    bounded: Any = unguarded(accumulation)  # type: ignore[arg-type]
    assert list(few(2, 5)) == [2, 3, 4]
    for solver, more in ((Solver.SGD, {}), (Solver.MOMENTUM, {"rho": 0})):
        with pytest.raises(ArithmeticError):
            bounded(solver, MOST + 1, **more)
    assert len(accumulation(Solver.SGD, MOST + 1)) == MOST + 1
