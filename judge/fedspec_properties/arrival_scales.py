"""Laws of late updates in other units: the problem drawn larger, objectives made louder; and how long a step can be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec_suite.laws.asked import both, either, fact, if_option, measured, option, settable, stabilised, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related, same_bits
from fedspec_suite.measure.bench import THRESHOLD, Bench
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, louder, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.traces import arrival_scenarios
from fedspec_suite.measure.verdict import Deviates, Deviation

Pair = tuple[Scenario, Scenario]


def _in_other_units(s: Scenario, c: float) -> Scenario:
    """The problem drawn c times as large: F_i is then c^2 times as large, its gradient c times."""
    h, problem = s.case.hyper, s.case.problem
    assert problem is not None
    small = abs(c) ** (2 if s.case.options.get("epsilon") == "inside" else 1)
    new = {n: h[n] * small for n in ("tau", "eps") if n in h}
    if new:
        new |= {"eta": h["eta"] * abs(c)} | {n: h[n] * c * c for n in ("v0",) if n in h}
    x0 = {n: a * c for n, a in s.case.x0.items()}
    return with_hyper(replace(s, case=replace(s.case, x0=x0, problem=replace(problem, e=problem.e * c))), **new)


@st.composite
def _scaled(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, float]:
    return draw(arrival_scenarios(setting)), draw(st.sampled_from((4.0, -1.0, 0.25)))


def _scales(bench: Bench, drawn: tuple[Scenario, float]) -> None:
    s, c = drawn
    related(bench, s, _in_other_units(s, c), lambda k, x: c * x)


def _louder(setting: Setting) -> st.SearchStrategy[Pair]:
    def scaled(s: Scenario) -> Pair:
        h = s.case.hyper
        return s, with_hyper(louder(s), eta_l=h["eta_l"] / 4, **({"mu": h["mu"] * 4} if "mu" in h else {}))

    return arrival_scenarios(setting).map(scaled)


def _as_loud(bench: Bench, pair: Pair) -> None:
    # Factors of four do not round.
    same_bits(bench, pair[0], bench.play(pair[0]), bench.play(pair[1]), "objectives times 4, eta_l / 4")


@st.composite
def _convergent(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(arrival_scenarios(setting))
    h = s.case.hyper
    return with_hyper(s, beta1=0.5) if "beta2" in h and h["beta1"] ** 2 >= h["beta2"] else s


def longest(s: Scenario) -> float:
    """The longest step that a coordinate can take: Cauchy-Schwarz on the sums that m and v are."""
    h = s.case.hyper
    b1 = h["beta1"]
    if "beta2" not in h:
        return float(h["eta"] * math.sqrt((1 - b1) / (1 + b1)))
    return float(h["eta"] * (1 - b1) / math.sqrt((1 - h["beta2"]) * (1 - b1 * b1 / h["beta2"])))


def _bounded(bench: Bench, s: Scenario) -> None:
    scale = bench.expect(s)
    x: Array = flatten(s.case.x0).astype(float)
    for k, got in enumerate(bench.play(s)):
        now = got["x"].astype(float)
        slack = THRESHOLD * float(np.finfo(bench.dtype).eps) * bounds_of(scale[k]["x"])
        over = np.abs(now - x) - longest(s) - slack
        if over.max() > 0:
            j = int(np.argmax(over))
            note = f"the step is longer than {longest(s):.6g}, which m and v cannot give"
            raise Deviates(Deviation(bench.step_equation, f"arrival {k + 1}", j, note=note))
        x = now


LAWS = (
    Law(
        id="arrivals-units",
        words="in other units of x (eta, eps, v_0 in their own) the path is the same",
        levels=("trace",),
        source="homogeneity of every rule",
        cases=_scaled,
        check=_scales,
        applies=both(
            fact(Fact.LATE),
            unless(option("slowing", "capped"), "its rate is compared with a delay"),
            either(unless(stabilised), settable("eta", of=measured)),
        ),
    ),
    Law(
        id="arrivals-louder",
        words="objectives times 4 and eta_l (and 1/mu) over 4 give the same bits",
        levels=("trace",),
        source="a local step is eta_l times a gradient",
        cases=_louder,
        check=_as_loud,
        applies=both(fact(Fact.LATE), settable("mu")),
        needs=("eta_l",),
    ),
    Law(
        id="bounded-steps",
        words="no step is longer than the moments allow: eta (1 - beta1) / sqrt((1 - beta2) (1 - beta1^2 / beta2)) "
        "and the like, whatever arrives",
        levels=("trace",),
        source="Client-Centric, L554, by Cauchy-Schwarz",
        cases=_convergent,
        check=_bounded,
        applies=both(fact(Fact.LATE, Fact.ADAPTIVE), if_option("bias_correction", "none")),
        needs=("beta1",),
    ),
)
