"""Yogi where v is exactly the square of what arrives: sign 0 is 0, and v stays.

Elsewhere rounding may turn the sign, and nothing is decided. Here nothing is rounded before the sign is taken, however
mean and square are written: v_0 is the square of a number of few digits, and all coordinates of the first gradient, or
of the first change of one client with one example, are that number or its negative. That client's steps are one, so
that FedNova's change is the client's own.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.contract import Gradient, Messages
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec.readings import NovaServer, SecondMoment
from fedspec_suite.laws.asked import both, either, fact, option, unless, where
from fedspec_suite.laws.closed_forms.adaptive import AMSGRAD, direction
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.running import RUNNING
from fedspec_suite.measure.scenario import Scenario, describe, running, with_hyper
from fedspec_suite.measure.setting import Setting

FINEST = 64
"""The largest denominator of the roots of v_0: with it neither squares nor sums with a model are rounded."""


def _tied(setting: Setting) -> st.SearchStrategy[Scenario]:
    """A first event in which every square is v_0."""

    def tied(s: Scenario) -> Scenario:
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
        return replace(s, events=(Gradient(equal(dict(first.g))),))

    return scenarios(setting).map(tied)


def _still(s: Scenario) -> Array:
    """The model after the event, its denominator made of v_0, in numbers that carry their rounding."""
    lifted, server = running(s), s.case.level == "server"
    h, o, x, event = lifted.case.hyper, lifted.case.options, flatten(lifted.case.x0), lifted.events[0]
    number = RUNNING[s.case.dtype]
    with digits():
        if isinstance(event, Messages):
            rows = [flatten(event.messages[0].delta)]
        else:
            assert isinstance(event, Gradient)
            rows = [flatten(event.g)]
        # The one average of v_0 and a square that equals it: its rounding covers that of a v that stays.
        assert all(a * a == number(h["v0"].value) for a in rows[0])
        step = direction(AMSGRAD, rows, h, o, h["tau" if server else "eps"])
        end: Array = x + h["eta"] * step if server else x - h["eta_l"] * step
    return end


def _stays(bench: Bench, s: Scenario) -> None:
    (got,), where = bench.play(s), f"{describe(s.events[0])} 1"
    if "v" in got:
        v0 = np.full(got["v"].shape, s.case.hyper["v0"])
        bench.compare("v", got["v"], v0, where, v0)
    bench.compare("x", got["x"], _still(s), where)


def _follows(bench: Bench, s: Scenario) -> None:
    """The rule itself decides the sign, exactly; the rounding of what it gives is that of the closed form."""
    with digits():
        want, bounds = bench.expect(s)[0]["x"], [x.bound for x in _still(s)]
    (got,) = bench.play(s)
    bench.compare("x", got["x"], want, f"{describe(s.events[0])} 1", np.array(bounds))


def _exact(setting: Setting) -> bool:
    fixed = setting.fixed
    roots = [sqrt(fixed["v0"])] if "v0" in fixed else [v for n, v in fixed.items() if n == "tau"]
    return all(root > 0 and (Fraction(root) * FINEST).denominator == 1 for root in roots)


TIED = both(
    either(fact(Fact.SIGNED), option("server", NovaServer.YOGI)),
    unless(option("second_moment", SecondMoment.MOMENTUM), "it squares an average, which is rounded"),
    where(_exact, "", "its v_0 is the square of no number of few digits"),
)
LAWS = (
    Law(
        id="follows-tie",
        words="x is what the rule gives where v equals the square of what arrives",
        levels=("client", "server"),
        source="the rule itself",
        cases=_tied,
        check=_follows,
        applies=TIED,
        reads_rule=True,
    ),
    Law(
        id="tie-stays",
        words="where v equals the square of what arrives, v stays: the sign of 0 is 0",
        levels=("client", "server"),
        source="external: Zaheer et al. (2018), Algorithm 2",
        cases=_tied,
        check=_stays,
        applies=TIED,
    ),
)
