"""Laws of servers that read every change of a round, and not their mean alone."""

from __future__ import annotations

from dataclasses import replace
from math import floor

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Messages
from fedspec.facts import Fact
from fedspec.params import flatten, unflatten
from fedspec_properties.joint import refuse, slack_of
from fedspec_properties.unrolled import WRITTEN
from fedspec_properties.unrolled import check as follows_history
from fedspec_suite.laws.asked import any_fact, both, fact
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import server_scenarios
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

FAR = 2.0**20
"""What nobody else comes near."""


def _rounds(s: Scenario) -> list[Messages]:
    return [e for e in s.events if isinstance(e, Messages)]


def _changes(e: Messages) -> Array:
    return np.array([flatten(m.delta) for m in e.messages]).astype(float)


def tolerated(s: Scenario, e: Messages) -> int:
    """How many of a round's messages may be anything: those left out at one end, or those before the middle."""
    M = len(e.messages)
    return floor(s.case.hyper["trim"] * M) if "trim" in s.case.hyper else (M - 1) // 2


@st.composite
def _attacked(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, list[list[int]]]:
    """Messages of which some say far numbers, and who does."""
    s: Scenario = draw(server_scenarios(setting, rounds=(1, 3), clients=(3, 6)))
    events, liars = [], []
    for e in _rounds(s):
        who = draw(st.permutations(range(len(e.messages))))[: tolerated(s, e)]
        size = flatten(e.messages[0].delta).size
        signs = draw(st.lists(st.sampled_from((-FAR, FAR)), min_size=size, max_size=size))
        said = unflatten(np.array(signs).astype(setting.dtype), e.messages[0].delta)
        events.append(Messages(tuple(replace(m, delta=said) if i in who else m for i, m in enumerate(e.messages))))
        liars.append(who)
    return replace(s, events=tuple(events)), liars


def _bounded_by_others(bench: Bench, drawn: tuple[Scenario, list[list[int]]]) -> None:
    s, liars = drawn
    expected, before = bench.expect(s), flatten(s.case.x0).astype(float)
    slack = np.abs(before) * 0
    for k, (e, who, got) in enumerate(zip(_rounds(s), liars, bench.play(s), strict=True)):
        x = got["x"].astype(float)
        honest = s.case.hyper.get("eta", 1.0) * np.delete(_changes(e), who, axis=0)
        low, high = before + honest.min(axis=0), before + honest.max(axis=0)
        own = slack_of(s, expected[k], "x")
        note = f"{len(who)} of {len(e.messages)} messages move it beyond all others"
        for edge, outside in ((low, x < low - own - slack), (high, x > high + own + slack)):
            refuse(bench, "x", k, outside, x, edge, note)
        before, slack = x, own


def _several(setting: Setting) -> st.SearchStrategy[Scenario]:
    return server_scenarios(setting, rounds=(1, 2), clients=(5, 7))


TOGETHER = (Fact.ORDERED, Fact.ELECTING, Fact.DISTANT, Fact.CENTRED, Fact.EXTRAPOLATING)
MIDDLE = fact(Fact.ORDERED)
LAWS = (
    Law(
        id="of-several",
        words="where five clients or more take part, the model is what all their changes make",
        levels=("server",),
        source="ranks by subsets; lengths by what changes are apart",
        cases=_several,
        check=follows_history,
        applies=both(any_fact(*TOGETHER), WRITTEN),
    ),
    Law(
        id="outvoted",
        words="as few clients as are left out at one end, or stand before the middle, move nothing beyond the others",
        levels=("server",),
        source="external: Yin et al. (2018), alpha <= beta",
        cases=_attacked,
        check=_bounded_by_others,
        applies=MIDDLE,
    ),
)
