"""Laws of the dead zone of FedAda2's local solvers: a whole step shorter than eps_s is not taken."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from fedspec.readings import DeadZone
from fedspec_properties.delayed_preconditioner import DELAYED, displacements, local_law, one_round
from fedspec_suite.laws.asked import both, option, unless
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.pools import POOLS
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation


@st.composite
def _edge(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(one_round(setting))
    return with_hyper(s, eps_s=draw(st.sampled_from([e for e in POOLS["eps_s"] if e > 0])))


def _none_or_long(bench: Bench, s: Scenario) -> None:
    least = s.case.hyper["eta_l"] * s.case.hyper["eps_s"]
    for k, d, slack in displacements(bench, s):
        length = float(np.linalg.norm(d))
        if 0 < length < least - float(np.linalg.norm(slack)):
            note = f"a step of length {length:.6g} is taken, shorter than eta_l eps_s = {least:.6g}"
            raise Deviates(Deviation(bench.step_equation, f"step {k + 1}", note=note))


DEAD = both(DELAYED, unless(option("dead_zone", DeadZone.MOMENTUM), "it takes its short steps"))
LAWS = (
    local_law(
        id="dead-zone-edge",
        words="a step is not taken, or its whole length is at least eta_l eps_s",
        source="Alg. 2, line 11 (L679)",
        cases=_edge,
        check=_none_or_long,
        applies=DEAD,
        needs=("eps_s",),
    ),
)
