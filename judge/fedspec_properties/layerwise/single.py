"""Laws of Fed-LAMB and its baselines: what one layer does alone, and what one client does alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import digits
from fedspec.contract import Round
from fedspec.params import flatten
from fedspec_properties.closed_forms.fed_lamb import each_layer, length_factor
from fedspec_properties.closed_forms.sums import length
from fedspec_properties.layerwise.shared import (
    BOX,
    BY_LAYER,
    IDENTITY,
    LAMB,
    ROUND,
    compare,
)
from fedspec_properties.reductions.edge import told
from fedspec_suite.laws.asked import below_one, both, settable
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench, reference
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario, posed, problem_of, running, with_hyper
from fedspec_suite.measure.setting import Setting


@st.composite
def single_coordinates(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Draw a round whose blocks have one coordinate each."""
    s: Scenario = draw(round_scenarios(setting))
    x = flatten(s.case.x0)[: draw(st.integers(1, 3))]
    p, d = problem_of(s), len(x)
    return posed(s, H=p.H[:, :d, :d], e=p.e[:, :d], x0={f"p{j}": x[j : j + 1] for j in range(d)})


def _keeps_signs(bench: Bench, s: Scenario) -> None:
    x0 = flatten(s.case.x0)
    for k, got in enumerate(bench.play(s)):
        bench.compare("x", np.sign(got["x"]), np.sign(x0), f"round {k + 1}", np.ones(len(x0)))


@st.composite
def _first_step(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(round_scenarios(setting, rounds=(1, 1), clients=(1, 1)))
    return with_hyper(replace(s, events=(Round((0,), (1,)),)), lam=0.0)


def _rescales(bench: Bench, s: Scenario) -> None:
    """The first step of one client: in every layer that of Fed-AMS, with another length."""
    ams = told(s, "fed-ams")
    with digits():
        exact = running(s)
        x0 = flatten(exact.case.x0)
        step, x = reference(ams)[0]["x"] - x0, x0.copy()
        for at in each_layer(s):
            size = length(step[at])
            if size > 0:
                phi = length_factor(length(x0[at]), exact.case.hyper, s.case.options)
                x[at] = x0[at] + exact.case.hyper["eta_l"] * phi * (step[at] / size)
    compare(bench, s, [x])


LAWS = (
    Law(
        id="layer-of-one-keeps-its-sign",
        words="phi the identity: a layer of one coordinate never changes sign",
        levels=ROUND,
        source=BOX + "line 12 (L147): a step is a share eta_l < 1 of its layer",
        cases=single_coordinates,
        check=_keeps_signs,
        applies=both(LAMB, IDENTITY, BY_LAYER, settable("eta_l", fits=below_one)),
    ),
    Law(
        id="first-step-is-that-of-fed-ams",
        words="lam = 0: one client's first step is that of Fed-AMS in every layer, with another length",
        levels=ROUND,
        source=BOX + "line 12 (L147): q over ||q|| points as q does",
        cases=_first_step,
        check=_rescales,
        applies=both(LAMB, BY_LAYER),
        needs=("lam",),
        zeroes=("lam",),
    ),
)
