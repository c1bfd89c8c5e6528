"""Law of LAMB's first step from a layer of zeros."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits, sqrt
from fedspec.contract import Begin, Blocks, Gradient
from fedspec.facts import Fact
from fedspec.params import flatten, layers, shapes
from fedspec_properties.closed_forms.fed_lamb import length_factor
from fedspec_properties.closed_forms.sums import length
from fedspec_suite.laws.applicability import fact
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import client_scenarios
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, running
from fedspec_suite.measure.setting import Setting


@st.composite
def zero_layers(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Draw rounds of one step, each from a model with some or all layers zero."""
    s: Scenario = draw(client_scenarios(setting, steps=(1, 1)))

    def emptied(x: Blocks) -> Blocks:
        zero = draw(st.sets(st.sampled_from(sorted(x)), min_size=1))
        return {n: a * 0 if n in zero else a for n, a in x.items()}

    events = tuple(Begin(emptied(e.x)) if isinstance(e, Begin) else e for e in s.events)
    return Scenario(replace(s.case, x0=emptied(s.case.x0)), events)


def _first_step(g: Array, s: Scenario) -> Array:
    """Value of a zero layer after one gradient: at the length that its reading gives it, or along the whole ratio.

    After one gradient the averages are shares of g and of g^2, and a correction takes the shares away.
    """
    h, o = s.case.hyper, s.case.options
    size: Array = np.abs(g)
    r = g / (size + h["eps"])
    if o["bias_correction"] == "none":
        r = (1 - h["beta1"]) * g / (sqrt(1 - h["beta2"]) * size + h["eps"])
    if o["zero_layer"] == "stays":
        of_r = length(r)
        r = r * (length_factor(0, h, o) / of_r) if of_r > 0 else r
    step: Array = -h["eta_l"] * r
    return step


def _steps_from_zero(bench: Bench, s: Scenario) -> None:
    run, scale = bench.play(s), bench.expect(s)
    with digits():
        exact = running(s)
        x = exact.case.x0
        for k, event in enumerate(exact.events):
            if isinstance(event, Begin):
                x = event.x
                continue
            assert isinstance(event, Gradient)
            here, g, got = flatten(x), flatten(event.g), run[k]["x"]
            # What stands elsewhere is not looked at.
            want, bounds = got.astype(object), np.zeros(len(got))
            for at in layers(shapes(s.case.x0)):
                if not length(here[at]) > 0:
                    want[at], bounds[at] = _first_step(g[at], exact), bounds_of(scale[k]["x"][at])
            bench.compare("x", got, want, f"step {k + 1}", bounds)


LAWS = (
    Law(
        id="zero-layer",
        words="the first step of a layer at zero is eta_l phi(0) long, or Adam's where the ratio is 1",
        levels=("client",),
        source="external: You et al. (2020), Algorithm 2, where x = 0",
        cases=zero_layers,
        check=_steps_from_zero,
        applies=fact(Fact.LAYERED),
    ),
)
