"""Laws of late updates from all arrivals so far: closed forms on quadratic clients, and the steps shown summed."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import digits
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec_properties.closed_forms.asynchronous import MOVES, buffer_of, change_on, known, models
from fedspec_suite.laws.asked import both, entry, fact
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, linear, running
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.traces import arrival_scenarios
from fedspec_suite.measure.verdict import NotOffered


def _unrolled(bench: Bench, s: Scenario) -> None:
    with digits():
        lifted = running(s)
        want = models(lifted, change_on(lifted))
    bench.follows(s, want)


def constant(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Clients whose gradient is -e_i everywhere."""
    return arrival_scenarios(setting).map(linear)


def _telescopes(bench: Bench, s: Scenario) -> None:
    with digits():
        lifted = running(s)
        problem = lifted.case.problem
        assert problem is not None
        eta_l = lifted.case.hyper["eta_l"]
        want = models(lifted, lambda e, x_mu: e.steps * eta_l * problem.e[e.client])
    bench.follows(s, want)


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

LAWS = (
    Law(
        id="arrivals-unrolled",
        words="on quadratics the model is a sum over all arrivals: powers of the clients' matrices and of the decays",
        levels=("trace",),
        source="Client-Centric, Alg. 3 (L149-181), L554; FedNova, eqs. (17)-(21)",
        cases=lambda setting: arrival_scenarios(setting, rounds=(2, 9)),
        check=_unrolled,
        applies=both(fact(Fact.LATE), WRITTEN),
    ),
    Law(
        id="arrivals-telescope",
        words="a client with constant gradient g sends -eta_l g, whatever its steps and delay; K times that "
        "unnormalised",
        levels=("trace",),
        source="Client-Centric, Alg. 3 (L149-181): Delta = (eta_l / K) sum of the K gradients",
        cases=constant,
        check=_telescopes,
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
)
