"""Cases drawn once and kept: the same for the same strategy, number and seed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis.strategies import SearchStrategy

from fedspec_suite.measure.constants import not_local
from fedspec_suite.measure.verdict import Undecided


def drawn(cases: SearchStrategy[Any], count: int, seed: int, allowed: Callable[[Any], None] | None = None) -> list[Any]:
    """The cases that a strategy draws, but for those that ``allowed`` cannot decide."""
    found: list[Any] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )
    @hypothesis.given(cases)
    def collect(case: Any) -> None:
        if allowed is not None:
            try:
                allowed(copy.deepcopy(case))
            except Undecided:
                hypothesis.reject()
        found.append(case)

    # There is no database; without this Hypothesis reads the source of the function, to find its cases in one.
    collect._hypothesis_internal_database_key = None  # type: ignore[attr-defined]
    try:
        with not_local():
            collect()
    except hypothesis.errors.Unsatisfiable:
        return []
    return found
