"""Laws of a momentum that moves at every N-th late update only: what is the same at the end of a block of N."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from fedspec_properties.arrival_paths import constant
from fedspec_suite.laws.asked import number
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

Pair = tuple[Scenario, Scenario]


def _ends(s: Scenario) -> range:
    """The last updates of the blocks, by number."""
    N = int(s.case.hyper["N"])
    return range(N - 1, len(s.events), N)


def _at_the_ends(bench: Bench, pair: Pair, behind: float = 0) -> None:
    """At the end of each block the second run lies so many times m behind the first."""
    first, second = pair
    a, b = bench.play(first), bench.play(second)
    before, after = bench.expect(first), bench.expect(second)
    for k in _ends(first):
        want = a[k]["x"].astype(float)
        bounds = bounds_of(before[k]["x"]) + bounds_of(after[k]["x"])
        if behind:
            want = want - behind * a[k]["m"].astype(float)
            bounds = bounds + np.abs(want) + behind * bounds_of(before[k]["m"])
        bench.compare("x", b[k]["x"], want, f"arrival {k + 1}", bounds)


@st.composite
def _activated(draw: st.DrawFn, setting: Setting) -> Pair:
    """Clients with constant gradients, so that changes do not read the model: without activation, and with some."""
    s: Scenario = draw(constant(setting))
    s = with_hyper(s, N=draw(st.integers(2, 3)))
    return with_hyper(s, c=0.0), with_hyper(s, c=draw(st.sampled_from((0.25, 0.5))))


def _lies_behind(bench: Bench, pair: Pair) -> None:
    h = pair[1].case.hyper
    _at_the_ends(bench, pair, h["eta"] * h["beta"] * h["c"] * (h["N"] - 1))


LAWS = (
    Law(
        id="activation-lags",
        words="with constant gradients the model is eta beta c (N - 1) m behind that without c at the end of a block",
        levels=("trace",),
        source="external: Liu et al. (2024): what c takes from the new momentum it gives to the old, block by block",
        cases=_activated,
        check=_lies_behind,
        applies=number("c"),
        shows="m",
        needs=("N", "c"),
        zeroes=("c",),
    ),
)
