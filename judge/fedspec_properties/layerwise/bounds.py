"""Laws of Fed-LAMB and its baselines: how long a step is, how far a round goes, and a denominator that never falls."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec.params import flatten
from fedspec_properties.closed_forms.fed_lamb import each_layer
from fedspec_properties.layerwise.shared import BOX, BY_LAYER, LAMB, PARTICIPANTS, ROUND
from fedspec_suite.laws.asked import both
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import THRESHOLD, Bench, Shown
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation, Undecided


def _moves(s: Scenario, run: Sequence[Shown]) -> list[tuple[Array, Array]]:
    """The model before every round and after it."""
    xs = [flatten(s.case.x0).astype(float), *(got["x"].astype(float) for got in run)]
    return list(itertools.pairwise(xs))


@st.composite
def _single_steps(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(round_scenarios(setting, clients=(1, 3)))
    events = tuple(Round((draw(st.sampled_from(e.participants)),), (1,)) for e in s.events if isinstance(e, Round))
    return replace(s, events=events)


def _scaled(s: Scenario, length: float) -> float:
    if s.case.options["phi"] == "clip":
        return float(np.clip(length, s.case.hyper["phi_m"], s.case.hyper["phi_M"]))
    return length if s.case.options["phi"] == "identity" else 1.0


def _has_length(bench: Bench, s: Scenario) -> None:
    """One client, one step: every layer moves by eta_l phi of its own length."""
    scale, before = bench.expect(s), [flatten(s.case.x0), *(w["x"] for w in bench.expect(s))]
    for k, (x, y) in enumerate(_moves(s, bench.play(s))):
        bench.finite("x", y, f"round {k + 1}")
        for at in each_layer(s):
            bound = sum(w.bound for w in scale[k]["x"][at]) + float(np.abs(x[at]).sum())
            rest = all(float(a) == float(b) for a, b in zip(before[k][at], before[k + 1][at], strict=True))
            want = 0.0 if rest else s.case.hyper["eta_l"] * _scaled(s, float(np.linalg.norm(x[at])))
            _near(bench, k, at.start, float(np.linalg.norm(y[at] - x[at])), want, bound, "the length of a layer's step")


def _near(bench: Bench, k: int, j: int, got: float, want: float, bound: float, what: str, below: bool = False) -> None:
    if not np.isfinite(bound):
        raise Undecided(f"{what} in round {k + 1}: rounding errors could hide a deviation")
    ratio = (got - want if below else abs(got - want)) / (float(np.finfo(bench.dtype).eps) * bound or 1.0)
    if not ratio <= THRESHOLD:
        raise Deviates(Deviation(bench.step_equation, f"round {k + 1}", j, got, want, ratio, what))


def _displaced(bench: Bench, s: Scenario) -> None:
    """No layer moves further than the mean of what its clients' steps add up to."""
    eta, scale = s.case.hyper["eta_l"], bench.expect(s)
    for k, (x, y) in enumerate(_moves(s, bench.play(s))):
        bench.finite("x", y, f"round {k + 1}")
        event = s.events[k]
        assert isinstance(event, Round)
        for at in each_layer(s):
            size = float(np.linalg.norm(x[at]))
            if s.case.options["phi"] == "identity":
                most = [((1 + eta) ** T - 1) * size for T in event.steps]
            else:
                most = [eta * T * s.case.hyper.get("phi_M", 1.0) for T in event.steps]
            bound = sum(w.bound for w in scale[k]["x"][at]) + size
            got, limit = float(np.linalg.norm(y[at] - x[at])), float(np.mean(most))
            _near(bench, k, at.start, got, limit, bound, "the longest that a layer's move can be", below=True)


LAYERED = both(LAMB, BY_LAYER, PARTICIPANTS)
LAWS = (
    Law(
        id="layer-step-length",
        words="one client, one step: every layer moves by eta_l phi of its length, or not at all",
        levels=ROUND,
        source=BOX + "line 12 (L147): q over ||q|| is a unit vector",
        cases=_single_steps,
        check=_has_length,
        applies=LAYERED,
    ),
    Law(
        id="layer-displacement",
        words="in a round no layer moves further than its clients' steps are long together, in the mean",
        levels=ROUND,
        source=BOX + "line 12 (L147), summed over T steps",
        cases=round_scenarios,
        check=_displaced,
        applies=LAYERED,
    ),
)
