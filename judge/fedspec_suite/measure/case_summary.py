"""Summary of a failing case: algorithm and level, round or step, and hyper-parameters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

MOST = 6
"""Largest number of hyper-parameters that the summary prints."""


def scenarios_in(case: Any) -> Iterator[Scenario]:
    """Yield the scenarios inside a law's case (a scenario or nested tuples), in order."""
    if isinstance(case, Scenario):
        yield case
    elif isinstance(case, tuple):
        for part in case:
            yield from scenarios_in(part)


def call_of(setting: Setting, case: Any, where: str) -> str:
    """Format a case as ``fedadam/server, round 2, eta=0.5``; a reading that is not canonical follows the level."""
    row = setting.algorithm
    reading = () if row.reading(setting.reading) is row.readings[0] else (setting.reading,)
    s = next(scenarios_in(case), None)
    hyper = s.case.hyper if s else {}
    told = [n for n in setting.numbers if n in hyper]
    numbers = (f"{n}={float(hyper[n]):g}" for n in islice(told, MOST))
    more = (f"{len(told) - MOST} more",) if len(told) > MOST else ()
    return ", ".join(filter(None, ("/".join((row.id, setting.level, *reading)), where, *numbers, *more)))
