"""How an algorithm weighs those that take part, seen in a plain case where no two ways give the same weights."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import Any

from fedspec.catalogue import Algorithm
from fedspec.contract import Offer
from fedspec.reference import session_of
from fedspec.rules import RULES, printed
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.setting import setting_of

ALIKE = "p_i = 1 / the number of the changes that are averaged"
BY_EXAMPLES = "p_i = n_i / the sum of the n_j of those that take part"


def weighing(a: Algorithm, options: Mapping[str, str] | None = None) -> str:
    """What p_i is, in words: read off the weights that its rules are given; empty where these are none of two kinds.

    Its specification takes the events of the plain case, in which two clients of 3 and 1 examples take 2 and 4 steps.
    """
    seen: list[tuple[float, ...]] = []
    try:
        reading = a.readings[0].name
        scenario = plain_scenario(setting_of(Offer(a.id, a.levels[-1], reading, dict(options or {}))))
        session = session_of(a, a.levels[-1])(a, scenario.case)
        before = sys.getprofile()
        sys.setprofile(_looking(_weighers(), seen))
        try:
            for event in scenario.events:
                session.step(event)
        finally:
            sys.setprofile(before)
    except Exception:
        # Somebody's own text may fail in any way; a page about it is no place to say so, and its verdict does.
        return ""
    problem = scenario.case.problem
    n = () if problem is None else tuple(map(float, problem.examples))
    if not any(len(p) > 1 for p in seen):
        return ""
    if all(p == (1 / len(p),) * len(p) for p in seen):
        return ALIKE
    if all(p == (1.0,) or p == tuple(n_i / sum(n) for n_i in n) for p in seen):
        return BY_EXAMPLES
    return ""


def _weighers() -> set[CodeType]:
    """The texts of the rules that are given weights p and print p_i."""
    return {
        inspect.unwrap(rule).__code__
        for rule in RULES.values()
        if "p" in (given := inspect.signature(rule).parameters)
        and "Weights" in str(given["p"].annotation)
        and any("p_i" in e.text for e in printed(rule))
    }


def _looking(codes: set[CodeType], seen: list[tuple[float, ...]]) -> Any:
    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in codes:
            seen.append(tuple(map(float, frame.f_locals["p"].tolist())))

    return look
