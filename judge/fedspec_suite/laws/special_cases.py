"""Laws on cases made for one question: the subject follows the rule under new rates, schedules and Yogi's ties.

Yogi takes the sign of v - Delta^2, and rounding may turn it elsewhere. In a tied case nothing is rounded before the
sign: v_0 is the square of a number of few digits, and every coordinate of the first gradient (or of the first change of
one client with one example) is that number or its negative.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.contract import Gradient, Level, Messages
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec.readings import NovaServer, SecondMoment
from fedspec_suite.laws.applicability import both, either, fact, option, sets_each_rate, sets_rates, unless, where
from fedspec_suite.laws.far import everything
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import client_scenarios, scenarios
from fedspec_suite.measure.hyper_pools import POOLS
from fedspec_suite.measure.scenario import Scenario, describe, with_hyper
from fedspec_suite.measure.scheduled_cases import varied_scenarios
from fedspec_suite.measure.setting import Setting

FINEST = 64
"""Largest denominator of the roots of v_0, for which neither squares nor sums with a model are rounded."""


@st.composite
def scheduled(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Draw a rate for every local step; the first step of a round has the case's rate."""
    s: Scenario = draw(client_scenarios(setting, steps=(2, 6)))
    events, before = [], None
    for e in s.events:
        if isinstance(e, Gradient):
            first = not isinstance(before, Gradient)
            e = replace(e, eta_l=s.case.hyper["eta_l"] if first else draw(st.sampled_from(POOLS["eta_l"])))
        events.append(e)
        before = e
    return replace(s, events=tuple(events))


def _follows_schedule(bench: Bench, s: Scenario) -> None:
    want, answers = bench.both(s)
    for k, (wanted, got) in enumerate(zip(want, answers, strict=True)):
        bench.compare("x", got["x"], wanted["x"], f"step {k + 1}")


def tied(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Draw a case whose first event makes every square equal to v_0."""

    def equal_squares(s: Scenario) -> Scenario:
        if not s.case.hyper["v0"]:
            s = with_hyper(s, v0=0.0625)
        root = sqrt(s.case.hyper["v0"])

        def equal(blocks: dict[str, Array]) -> dict[str, Array]:
            return {n: np.where(a < 0, -root, root).astype(a.dtype) for n, a in blocks.items()}

        first = s.events[0]
        if isinstance(first, Messages):
            m = replace(first.messages[0], delta=equal(dict(first.messages[0].delta)), weight=1, steps=1, a_norm=1)
            return replace(s, events=(Messages((m,)),))
        assert isinstance(first, Gradient)
        return replace(s, events=(replace(first, g=equal(dict(first.g))),))

    return scenarios(setting).map(equal_squares)


def _follows_tie(bench: Bench, s: Scenario) -> None:
    """Compare x with the rule, whose sign is exact; its step and its sum with the model are the only roundings."""
    with digits():
        want = bench.expect(s)[0]["x"]
    (got,) = bench.play(s)
    start, end = np.abs(flatten(s.case.x0)).astype(float), np.array([float(x.value) for x in want])
    bench.compare("x", got["x"], want, f"{describe(s.events[0])} 1", start + 8 * np.abs(end - flatten(s.case.x0)))


def _exact(setting: Setting) -> bool:
    fixed = setting.fixed
    roots = [sqrt(fixed["v0"])] if "v0" in fixed else [v for n, v in fixed.items() if n == "tau"]
    return all(root > 0 and (Fraction(root) * FINEST).denominator == 1 for root in roots)


TIED = both(
    either(fact(Fact.SIGNED), option("server", NovaServer.YOGI)),
    unless(option("second_moment", SecondMoment.MOMENTUM), "it squares an average, which is rounded"),
    where(_exact, "", "its v_0 is the square of no number of few digits"),
)
ROUNDS: tuple[Level, ...] = ("server", "round", "trace")

LAWS = (
    Law(
        id="follows-tie",
        words="x equals the rule's if v equals the square of what arrives",
        levels=("client", "server"),
        source="the rule itself",
        cases=tied,
        check=_follows_tie,
        applies=TIED,
        reads_rule=True,
    ),
    Law(
        id="schedule-follows",
        words="under a schedule, x equals the rule's with the rate of each step",
        levels=("client",),
        source="the rule itself",
        cases=scheduled,
        check=_follows_schedule,
        applies=sets_each_rate,
        reads_rule=True,
    ),
    Law(
        id="rates-follow",
        words="if events say rates anew, the returned quantities equal the rule's with them",
        levels=ROUNDS,
        source="the rule itself",
        cases=varied_scenarios,
        check=everything,
        applies=sets_rates,
        reads_rule=True,
    ),
)
