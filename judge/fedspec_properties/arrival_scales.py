"""Laws of late updates in other units: the problem drawn larger, objectives made louder; and how long a step can be."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec_suite.laws.asked import both, fact, if_option
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import THRESHOLD, Bench
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.traces import arrival_scenarios
from fedspec_suite.measure.verdict import Deviates, Deviation

Pair = tuple[Scenario, Scenario]


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
