"""Laws of the dead zone of FedAda2's local solvers: a whole step shorter than eps_s is not taken."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from fedspec.contract import Begin
from fedspec.params import flatten
from fedspec.readings import DeadZone
from fedspec_properties.delayed_preconditioner import DELAYED, deviates, displacements, local_law, one_round
from fedspec_suite.laws.asked import both, option, unless
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import client_scenarios
from fedspec_suite.measure.pools import POOLS
from fedspec_suite.measure.scenario import Scenario, describe, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation


def _never_moves(bench: Bench, s: Scenario) -> None:
    x = flatten(s.case.x0)
    for k, (event, got) in enumerate(zip(s.events, bench.play(s), strict=True)):
        if isinstance(event, Begin):
            x = flatten(event.x)
        if not np.array_equal(got["x"], x):
            j = int(np.argmax(got["x"] != x))
            note = f"every step is shorter than eps_s = {s.case.hyper['eps_s']:g}, and the model moves"
            where = f"{describe(event)} {k + 1}"
            raise Deviates(Deviation(bench.step_equation, where, j, float(got["x"][j]), float(x[j]), None, note))


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


def _whole(bench: Bench, s: Scenario) -> None:
    awake = displacements(bench, with_hyper(s, eps_s=0.0))
    for (k, d, slack), (_, free, more) in zip(displacements(bench, s), awake, strict=True):
        if d.any():
            changed = np.abs(d - free) > slack + more
            deviates(bench, k, changed, d, free, "neither left out nor that of a run without dead zone")


DEAD = both(DELAYED, unless(option("dead_zone", DeadZone.MOMENTUM), "it takes its short steps"))
LAWS = (
    local_law(
        id="dead-zone-all",
        words="a dead zone wider than every step: nothing moves",
        source="Alg. 2, line 11 (L679)",
        cases=lambda setting: client_scenarios(setting).map(lambda s: with_hyper(s, eps_s=2.0**20)),
        check=_never_moves,
        applies=DEAD,
        needs=("eps_s",),
    ),
    local_law(
        id="dead-zone-edge",
        words="a step is not taken, or its whole length is at least eta_l eps_s",
        source="Alg. 2, line 11 (L679)",
        cases=_edge,
        check=_none_or_long,
        applies=DEAD,
        needs=("eps_s",),
    ),
    local_law(
        id="dead-zone-whole",
        words="the dead zone leaves out whole steps and changes no other",
        source="Alg. 2, line 11 (L679)",
        cases=_edge,
        check=_whole,
        applies=DEAD,
        needs=("eps_s",),
        zeroes=("eps_s",),
    ),
)
