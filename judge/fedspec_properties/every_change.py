"""Laws of servers that read every change of a round, and not their mean alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import floor
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import ClientMessage, Messages
from fedspec.facts import Fact
from fedspec.params import flatten, unflatten
from fedspec_properties.joint import refuse, slack_of
from fedspec_properties.unrolled import WRITTEN
from fedspec_properties.unrolled import check as follows_history
from fedspec_properties.weighing import counts
from fedspec_suite.laws.asked import any_fact, both, fact
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import server_scenarios
from fedspec_suite.measure.parts import blocks, draw_blocks
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, with_hyper
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


@st.composite
def _shifted(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Mapping[str, Array]]:
    s: Scenario = draw(server_scenarios(setting, clients=(setting.crowd, setting.crowd + 4)))
    return s, draw(blocks({n: a.shape for n, a in s.case.x0.items()}, setting.dtype, denominator=4))


def _shifts(bench: Bench, drawn: tuple[Scenario, Mapping[str, Array]]) -> None:
    s, more = drawn
    there = replace(
        s,
        events=tuple(
            Messages(tuple(replace(m, delta={n: a + more[n] for n, a in m.delta.items()}) for m in e.messages))
            for e in _rounds(s)
        ),
    )
    by = s.case.hyper.get("eta", 1.0) * flatten(more).astype(float)
    related(bench, s, there, lambda k, x: x + (k + 1) * by)


@st.composite
def _stretched(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Array]:
    s: Scenario = draw(server_scenarios(setting, clients=(1, 5)))
    size = flatten(s.case.x0).size
    return s, np.array(draw(st.lists(st.sampled_from((0.25, 0.5, 1.0, 4.0)), min_size=size, max_size=size)))


def _stretches(bench: Bench, drawn: tuple[Scenario, Array]) -> None:
    s, factors = drawn

    def stretch(a: Mapping[str, Array]) -> dict[str, Array]:
        return unflatten(flatten(a) * factors.astype(s.case.dtype), a)

    events = tuple(Messages(tuple(replace(m, delta=stretch(m.delta)) for m in e.messages)) for e in _rounds(s))
    there = Scenario(replace(s.case, x0=stretch(s.case.x0)), events)
    related(bench, s, there, lambda k, x: x * factors)


def _shares(s: Scenario, e: Messages) -> Array:
    weights = counts(s.case.options, [m.weight for m in e.messages], [m.steps for m in e.messages])
    found: Array = np.array([float(w) for w in weights]) / float(sum(weights))
    return found


def _no_shorter(bench: Bench, s: Scenario) -> None:
    expected = bench.expect(s)
    before, slack = flatten(s.case.x0).astype(float), 0.0
    for k, (e, got) in enumerate(zip(_rounds(s), bench.play(s), strict=True)):
        x, mean = got["x"].astype(float), _shares(s, e) @ _changes(e)
        own = float(np.linalg.norm(slack_of(s, expected[k], "x")))
        size, move = float(np.linalg.norm(mean)), x - before
        along = float(move @ mean) / size if size else 0.0
        aside = move - (along / size if size else 0.0) * mean
        short = np.full(x.shape, size > 0 and along < size - own - slack)
        refuse(bench, "x", k, short, move, mean, "the move is shorter than the mean of the changes")
        refuse(bench, "x", k, np.abs(aside) > own + slack, move, mean, "the move is not along the mean of the changes")
        before, slack = x, own


@st.composite
def _orthogonal(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Every client moves one coordinate, each another, all as far; eps is 0."""
    s: Scenario = draw(server_scenarios(setting, rounds=(1, 1), clients=(1, 5)))
    (e,) = _rounds(s)
    M, like = len(e.messages), {"w": np.zeros(5, setting.dtype)}
    far = draw(st.integers(1, 24)) / 4
    sent: list[ClientMessage] = []
    for m, j in zip(e.messages, draw(st.permutations(range(5)))[:M], strict=True):
        delta = like["w"].copy()
        delta[j] = draw(st.sampled_from((-far, far)))
        sent.append(replace(m, delta={"w": delta}))
    x0: dict[str, Any] = draw_blocks(draw, {"w": (5,)}, setting.dtype)
    return with_hyper(Scenario(replace(s.case, x0=x0), (Messages(tuple(sent)),)), eps=0.0)


def _as_far_as_apart(bench: Bench, s: Scenario) -> None:
    (e,), (got,) = _rounds(s), bench.play(s)
    p = _shares(s, e)
    move = max(1.0, 1 / (2 * float(p @ p))) * (p @ _changes(e))
    want = flatten(s.case.x0).astype(float) + move
    bounds = 2 * bounds_of(bench.expect(s)[0]["x"]) + 4 * (np.abs(want) + np.abs(move))
    bench.compare("x", got["x"], want, "round 1", bounds)


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
    Law(
        id="changes-shifted",
        words="where every client moves by one vector more, so does the server, times its rate",
        levels=("server",),
        source="an order statistic of v_i + c is that of v_i, plus c; and v_i - v_j does not change",
        cases=_shifted,
        check=_shifts,
        applies=any_fact(Fact.ORDERED, Fact.ELECTING),
    ),
    Law(
        id="coordinates-stretched",
        words="another unit for each coordinate: the path in these units",
        levels=("server",),
        source="an order statistic of c v_i is c times that of v_i, c > 0",
        cases=_stretched,
        check=_stretches,
        applies=MIDDLE,
    ),
    Law(
        id="no-shorter",
        words="the move is along the mean of the changes, and no shorter",
        levels=("server",),
        source="external: Jhunjhunwala, Wang and Joshi (2023), eta_g >= 1",
        cases=server_scenarios,
        check=_no_shorter,
        applies=fact(Fact.EXTRAPOLATING),
    ),
    Law(
        id="orthogonal",
        words="changes of one length at right angles, eps = 0: the mean times the larger of 1 and 1 / (2 sum p_i^2)",
        levels=("server",),
        source="Pythagoras: ||Delta||^2 = sum p_i^2 c^2; M / 2 for equal p_i",
        cases=_orthogonal,
        check=_as_far_as_apart,
        applies=fact(Fact.EXTRAPOLATING),
        needs=("eps",),
        zeroes=("eps",),
    ),
)
