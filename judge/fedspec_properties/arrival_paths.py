"""Laws of late updates from all arrivals so far: closed forms on quadratic clients, and the steps shown summed."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec_properties.closed_forms.asynchronous import MOVES, buffer_of, change_on, known, models
from fedspec_properties.unrolled import follows
from fedspec_suite.laws.asked import both, entry, fact, number
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, linear, problem_of, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.traces import arrival_scenarios
from fedspec_suite.measure.verdict import NotOffered


def _unrolled(s: Scenario) -> list[Array]:
    return models(s, change_on(s))


def constant(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Clients whose gradient is -e_i everywhere."""
    return arrival_scenarios(setting).map(linear)


def _telescoped(s: Scenario) -> list[Array]:
    problem, eta_l = problem_of(s), s.case.hyper["eta_l"]
    return models(s, lambda e, x_mu: e.steps * eta_l * problem.e[e.client])


def _conserves(bench: Bench, s: Scenario) -> None:
    h, o = s.case.hyper, s.case.options
    moment = next(name for name in ("v_hat", "v", "delta") if name in bench.algorithm.shows)
    small = float(h.get("eps", h.get("tau", 0)))
    scale = bench.expect(s)
    done = []
    for k, got in enumerate(bench.play(s)):
        if k % buffer_of(s) == buffer_of(s) - 1:
            if not {moment, "delta"} <= set(got) or (small and "m" not in got):
                raise NotOffered(f"not offered: {moment} is not shown")
            below = got[moment].astype(float)
            if small:
                root = np.sqrt(below + small) if o["epsilon"] == "inside" else np.sqrt(below) + small
                done.append(got["m"].astype(float) / root)
            else:
                done.append(below)
        want = flatten(s.case.x0).astype(float) + float(h.get("eta", 1)) * np.sum(done, axis=0)
        bounds = bounds_of(scale[k]["x"])
        bench.compare("x", got["x"], want, f"arrival {k + 1}", bounds)


WRITTEN = entry(known, "closed form of its server (STEPS in its file)")


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
        id="arrivals-unrolled",
        words="on quadratics the model is a sum over all arrivals: powers of the clients' matrices and of the decays",
        levels=("trace",),
        source="Client-Centric, Alg. 3 (L149-181), L554; FedNova, eqs. (17)-(21)",
        cases=lambda setting: arrival_scenarios(setting, rounds=(2, 9)),
        check=follows(_unrolled),
        applies=both(fact(Fact.LATE), WRITTEN),
    ),
    Law(
        id="arrivals-telescope",
        words="a client with constant gradient g sends -eta_l g, whatever its steps and delay; K times that "
        "unnormalised",
        levels=("trace",),
        source="Client-Centric, Alg. 3 (L149-181): Delta = (eta_l / K) sum of the K gradients",
        cases=constant,
        check=follows(_telescoped),
        applies=both(fact(Fact.BUFFERED), WRITTEN),
    ),
    Law(
        id="arrivals-conserved",
        words="the model has moved by eta times the sum of all steps, as the moments shown give them",
        levels=("trace",),
        source="Client-Centric, L111 and L554, summed over the rounds",
        cases=lambda setting: arrival_scenarios(setting, rounds=(2, 9)),
        check=_conserves,
        # What a row shows as v is its own affair.
        applies=both(fact(Fact.BUFFERED), entry(MOVES, "sum of what it shows here")),
        shows="delta",
    ),
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
