"""Laws of local steps that each have a rate of their own, as a schedule gives it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.contract import Gradient
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec_suite.laws.asked import any_fact, both, number, sets_each_rate, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import client_scenarios
from fedspec_suite.measure.pools import POOLS
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

Pair = tuple[Scenario, Scenario]


@st.composite
def _scheduled(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Rates that rise and fall, the first of each round that of the case."""
    s: Scenario = draw(client_scenarios(setting, steps=(2, 6)))
    events, before = [], None
    for e in s.events:
        if isinstance(e, Gradient):
            first = not isinstance(before, Gradient)
            e = replace(e, eta_l=s.case.hyper["eta_l"] if first else draw(st.sampled_from(POOLS["eta_l"])))
        events.append(e)
        before = e
    return replace(s, events=tuple(events))


def _follows(bench: Bench, s: Scenario) -> None:
    want, answers = bench.both(s)
    for k, (wanted, got) in enumerate(zip(want, answers, strict=True)):
        bench.compare("x", got["x"], wanted["x"], f"step {k + 1}")


@st.composite
def _one_longer(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, int]:
    s: Scenario = draw(_scheduled(setting))
    steps = [k for k, e in enumerate(s.events) if isinstance(e, Gradient)]
    return s, draw(st.sampled_from(steps))


def _stretches(bench: Bench, drawn: tuple[Scenario, int]) -> None:
    """A step at four times its rate moves four times as far, and no other step moves otherwise."""
    s, at = drawn
    event = s.events[at]
    assert isinstance(event, Gradient) and event.eta_l is not None
    longer = replace(s, events=(*s.events[:at], replace(event, eta_l=4 * event.eta_l), *s.events[at + 1 :]))
    ends = [flatten(s.case.x0), *(got["x"] for got in bench.play(s))]
    moved = 3 * (ends[at + 1].astype(float) - ends[at])
    until = next((k for k in range(at, len(s.events)) if not isinstance(s.events[k], Gradient)), len(s.events))
    scale = bench.expect(longer)
    for k, got in enumerate(bench.play(longer)):
        want = ends[k + 1].astype(float) + (moved if at <= k < until else 0)
        bounds = bounds_of(scale[k]["x"]) + 8 * np.abs(want)
        bench.compare("x", got["x"], want, f"step {k + 1}", bounds)


def _constant(setting: Setting) -> st.SearchStrategy[Pair]:
    def told(s: Scenario) -> Pair:
        rate = s.case.hyper["eta_l"]
        return s, replace(s, events=tuple(replace(e, eta_l=rate) if isinstance(e, Gradient) else e for e in s.events))

    return client_scenarios(setting).map(told)


def _same(bench: Bench, pair: Pair) -> None:
    related(bench, *pair, lambda k, x: x)


LAWS = (
    Law(
        id="schedule-follows",
        words="under a schedule, x is what the rule gives with the rate of each step",
        levels=("client",),
        source="the rule itself",
        cases=_scheduled,
        check=_follows,
        applies=sets_each_rate,
        reads_rule=True,
    ),
    Law(
        id="schedule-step",
        words="a step at four times its rate moves four times as far, and the other steps as they did",
        levels=("client",),
        source="every step is rate times direction",
        cases=_one_longer,
        check=_stretches,
        applies=both(
            sets_each_rate,
            unless(number("mu"), "its steps depend on where those before led"),
            unless(any_fact(Fact.DECAYING, Fact.LAYERED), "its steps depend on where those before led"),
            unless(number("eps_s"), "whether it takes a step depends on the rate"),
        ),
    ),
    Law(
        id="schedule-constant",
        words="a schedule that stays at the case's rate is none",
        levels=("client",),
        source="every step is rate times direction",
        cases=_constant,
        check=_same,
        applies=sets_each_rate,
    ),
)
