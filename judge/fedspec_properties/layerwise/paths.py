"""Laws of Fed-LAMB and its baselines: paths in closed form, and paths from all gradients so far."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.params import flatten, unflatten
from fedspec_properties.closed_forms.fed_lamb import each_layer, rounds
from fedspec_properties.layerwise.shared import (
    AMS,
    BOX,
    BY_LAYER,
    IDENTITY,
    LAMB,
    OF_THE_ROUND,
    ROUND,
    compare,
    rounds_of,
)
from fedspec_properties.layerwise.single import single_coordinates
from fedspec_suite.laws.asked import both, nonzero, settable
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario, lift, posed, problem_of, running, with_hyper
from fedspec_suite.measure.setting import Setting


def _unrolled(bench: Bench, s: Scenario, name: str) -> None:
    with digits():
        runs = list(rounds(running(s)))
    compare(bench, s, [pair[name == "v_hat"] for pair in runs], name)


@st.composite
def _decaying(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(round_scenarios(setting))
    p = problem_of(s)
    lam = s.case.hyper["lam"]
    return with_hyper(posed(s, H=0 * p.H, e=0 * p.e), lam=lam if lam or "lam" in setting.fixed else 0.25)


def _decays(bench: Bench, s: Scenario) -> None:
    """Without gradients every layer points where the decay pulls: a step is a factor 1 - eta_l, whatever lam."""
    x, factor, want = flatten(lift(s, Fraction).case.x0), Fraction(1), []
    for n, who in rounds_of(s):
        factor *= sum((1 - Fraction(s.case.hyper["eta_l"])) ** T for _, T in who) / Fraction(n)
        want.append(factor * x)
    compare(bench, s, want)


@st.composite
def _radial(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Array]:
    """Constant gradients along the layers, whose coordinates have one magnitude; k[i, l] is how much of layer l."""
    s: Scenario = draw(round_scenarios(setting))
    p, layers = problem_of(s), each_layer(s)
    x = np.concatenate(
        [np.where(flatten(s.case.x0)[at] < 0, -1, 1) * draw(st.sampled_from((0.5, 1, 3))) for at in layers]
    )
    whole = st.lists(st.integers(-2, 2), min_size=len(layers), max_size=len(layers))
    k = np.array([draw(whole) for _ in p.H])
    e = np.stack([np.concatenate([k_l * x[at] for k_l, at in zip(k_i, layers, strict=True)]) for k_i in k])
    x0 = unflatten(x.astype(setting.dtype), s.case.x0)
    return with_hyper(posed(s, H=0 * p.H, e=e.astype(setting.dtype), x0=x0), lam=0.0), np.sign(k)


def _stretches(bench: Bench, drawn: tuple[Scenario, Array]) -> None:
    s, direction = drawn
    eta, layers = Fraction(s.case.hyper["eta_l"]), each_layer(s)
    x, want = flatten(lift(s, Fraction).case.x0), []
    for n, who in rounds_of(s):
        for l, at in enumerate(layers):
            x[at] = x[at] * sum((1 + eta * int(direction[i, l])) ** T for i, T in who) / n
        want.append(x.copy())
    compare(bench, s, want)


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
        id="denominator-history",
        words="v_hat is the largest of v_0 and all rounds' means of sums over all squares so far",
        levels=ROUND,
        source=BOX + "lines 9 and 15 (L141, L152-154), unrolled",
        cases=round_scenarios,
        check=partial(_unrolled, name="v_hat"),
        applies=AMS,
        shows="v_hat",
    ),
    Law(
        id="decay-alone",
        words="phi the identity, no gradient: every step is a factor 1 - eta_l, whatever lam > 0",
        levels=ROUND,
        source=BOX + "line 12 (L147) where p = 0",
        cases=_decaying,
        check=_decays,
        applies=both(settable("lam", fits=nonzero), LAMB, IDENTITY, BY_LAYER, OF_THE_ROUND),
    ),
    Law(
        id="layers-stretch",
        words="phi the identity, constant gradients along the layers: every step is a factor 1 + eta_l or 1 - eta_l",
        levels=ROUND,
        source=BOX + "line 12 (L147) where p is along x",
        cases=_radial,
        check=_stretches,
        applies=both(LAMB, IDENTITY, BY_LAYER, OF_THE_ROUND),
        needs=("lam",),
        zeroes=("lam",),
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
