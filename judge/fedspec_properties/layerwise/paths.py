"""Laws of Fed-LAMB and its baselines: paths in closed form, and paths from all gradients so far."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import digits
from fedspec.params import flatten
from fedspec_properties.closed_forms.fed_lamb import rounds
from fedspec_properties.layerwise.shared import (
    AMS,
    BOX,
    BY_LAYER,
    LAMB,
    OF_THE_ROUND,
    ROUND,
    compare,
    rounds_of,
)
from fedspec_properties.layerwise.single import single_coordinates
from fedspec_suite.laws.asked import both
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario, lift, running, with_hyper
from fedspec_suite.measure.setting import Setting


def _unrolled(bench: Bench, s: Scenario, name: str) -> None:
    with digits():
        runs = list(rounds(running(s)))
    compare(bench, s, [pair[name == "v_hat"] for pair in runs], name)


@st.composite
def _signed(draw: st.DrawFn, setting: Setting) -> Scenario:
    return with_hyper(draw(single_coordinates(setting)), beta1=0.0, lam=0.0)


def _steps_by_signs(bench: Bench, s: Scenario) -> None:
    """Every coordinate moves by eta_l phi(|x|) against the sign of its gradient, in exact numbers."""
    exact = lift(s, Fraction)
    h, o, p = exact.case.hyper, s.case.options, exact.case.problem
    assert p is not None
    x, want = list(flatten(exact.case.x0)), []
    for n, who in rounds_of(s):
        ends = []
        for i, T in who:
            y = list(x)
            for _ in range(T):
                seen = x if o["gradient"] == "stale" else y
                g = [
                    sum(a * b for a, b in zip(row, seen, strict=True)) - c
                    for row, c in zip(p.H[i], p.e[i], strict=True)
                ]
                y = [c - h["eta_l"] * _phi(abs(c), h, o) * ((d > 0) - (d < 0)) for c, d in zip(y, g, strict=True)]
            ends.append(y)
        x = [sum(column) / Fraction(n) for column in zip(*ends, strict=True)]
        want.append(np.array(x, dtype=object))
    compare(bench, s, want)


def _phi(length: Any, h: Any, o: Any) -> Any:
    if o["phi"] == "clip":
        return sorted((h["phi_m"], length, h["phi_M"]))[1]
    return length if o["phi"] == "identity" else Fraction(1)


LAWS = (
    Law(
        id="layerwise-history",
        words="the path from sums over all gradients so far, told apart by client, and maxima over all rounds",
        levels=ROUND,
        source=BOX + "lines 8-15 (L140-154), unrolled",
        cases=round_scenarios,
        check=partial(_unrolled, name="x"),
        applies=AMS,
    ),
    Law(
        id="layers-of-one",
        words="layers of one coordinate, beta1 = 0, lam = 0: steps by signs, whatever beta2, v_0 and eps",
        levels=ROUND,
        source=BOX + "line 12 (L147) in one dimension",
        cases=_signed,
        check=_steps_by_signs,
        applies=both(LAMB, BY_LAYER, OF_THE_ROUND),
        needs=("beta1", "lam"),
        zeroes=("beta1", "lam"),
    ),
)
