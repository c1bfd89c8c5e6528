"""The law that no coordinate is special: taken in another order and with other signs they give the same path so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import LEVELS, Begin, Event, Gradient, Messages
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec_suite.laws.asked import both, fact, odd, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.renaming import Renaming
from fedspec_suite.measure.scenario import Scenario, at_rest, sending
from fedspec_suite.measure.setting import Setting


def _in_one_block(s: Scenario) -> Scenario:
    """One vector for the model: no layers, and slices that are coordinates."""

    def flat(blocks: Any) -> dict[str, Array]:
        return {"w": flatten(blocks)}

    def event(e: Event) -> Event:
        match e:
            case Gradient(g=g):
                return Gradient(flat(g))
            case Begin(x=x):
                return Begin(flat(x))
            case Messages(messages=messages):
                return Messages(tuple(sending(m, flat) for m in messages))
        return e

    return Scenario(replace(s.case, x0=flat(s.case.x0)), tuple(map(event, s.events)))


@st.composite
def _renamed(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario, Renaming]:
    s: Scenario = at_rest(draw(scenarios(setting)))
    if "peers" not in setting.takes:
        s = _in_one_block(s)
    d = next(iter(s.case.x0.values())).shape[-1]
    signs = draw(st.lists(st.sampled_from((-1, 1)), min_size=d, max_size=d))
    renaming = Renaming(np.array(draw(st.permutations(range(d)))), np.array(signs))
    return s, renaming.scenario(s), renaming


def _same_path(bench: Bench, drawn: tuple[Scenario, Scenario, Renaming]) -> None:
    s, there, renaming = drawn
    d = len(renaming.order)
    related(bench, s, there, lambda k, x: renaming.vector(x.reshape(-1, d)).reshape(-1))


LAWS = (
    Law(
        id="coordinates-alike",
        words="the coordinates in another order and with other signs: the path in that order with those signs",
        levels=LEVELS,
        source="all operations are elementwise and odd, or look at lengths and sets",
        cases=_renamed,
        check=_same_path,
        applies=both(odd, unless(fact(Fact.MATRICES), "what is a row stays one (rows-and-columns-alike)")),
    ),
)
