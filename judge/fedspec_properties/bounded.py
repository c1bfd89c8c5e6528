"""Laws of clients whose changes have bounded length: normalised steps, clipped changes with noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Begin, Event, Gradient, Level, Round
from fedspec.facts import Fact
from fedspec_properties.joint import FAR, law, rounds_of, shown
from fedspec_suite.laws.asked import both, fact, if_option
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import client_scenarios, round_scenarios
from fedspec_suite.measure.parts import above_zero, draw_quadratics, vectors
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

TURN = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
"""An orthogonal matrix of dyadic numbers that mixes all coordinates."""


@st.composite
def _turned(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario]:
    """A run in four dimensions, and the same run turned."""
    d = len(TURN)

    def vector() -> Array:
        return draw(vectors((d,), setting.dtype))

    kind = client_scenarios(setting, steps=(1, 4)) if setting.level == "client" else round_scenarios(setting)
    s: Scenario = draw(kind)
    problem = s.case.problem
    if problem is not None:
        larger = draw_quadratics(draw, len(problem.H), d, setting.dtype)
        problem = above_zero(replace(larger, f=problem.f))

    def event(e: Event) -> Event:
        match e:
            case Gradient():
                return Gradient({"w": vector()})
            case Begin():
                return Begin({"w": vector()})
            case Round() if e.noise:
                return replace(e, noise=tuple(vector().tolist()))
        return e

    s = Scenario(replace(s.case, x0={"w": vector()}, problem=problem), tuple(map(event, s.events)))
    return s, _turn(s)


def _turn(s: Scenario) -> Scenario:
    Q = TURN.astype(s.case.dtype)
    problem = s.case.problem
    if problem is not None:
        problem = replace(problem, H=Q @ problem.H @ Q.T, e=problem.e @ Q.T)

    def event(e: Event) -> Event:
        match e:
            case Gradient(g=g):
                return Gradient({"w": Q @ g["w"]})
            case Begin(x=x):
                return Begin({"w": Q @ x["w"]})
            case Round() if e.noise:
                return replace(e, noise=tuple((Q @ np.array(e.noise)).tolist()))
        return e

    case = replace(s.case, x0={"w": Q @ s.case.x0["w"]}, problem=problem)
    return Scenario(case, tuple(map(event, s.events)))


def _turns_along(bench: Bench, pair: tuple[Scenario, Scenario]) -> None:
    s, there = pair
    expected = bench.expect(there)
    for k, (before, after) in enumerate(zip(bench.play(s), bench.play(there), strict=True)):
        bench.finite("x", before["x"], f"event {k + 1}")
        # A coordinate of one run is made of all coordinates of the other.
        size = 2 * sum(w.bound for w in expected[k]["x"]) + float(np.abs(before["x"]).sum())
        want = TURN @ before["x"].astype(float)
        bench.compare("x", after["x"], want, f"event {k + 1}", np.full(len(TURN), size))


def _alone(setting: Setting) -> st.SearchStrategy[Scenario]:
    drawn = round_scenarios(setting, rounds=(1, 1), clients=(1, 1), everyone=True)
    return drawn.map(lambda s: with_hyper(s, sigma=0.0))


def _shortened(bench: Bench, s: Scenario) -> None:
    """A clipped change has the direction of the unclipped one, and the smaller of its length and c."""
    (e,) = rounds_of(s)
    expected = bench.expect(s)
    free = shown(bench.play(with_hyper(s, clip_norm=FAR))[0], "delta")[0]
    size = float(np.linalg.norm(free))
    want = free * min(1.0, s.case.hyper["clip_norm"] / size) if size else free
    got = bench.play(s)[0]
    shown(got, "delta")
    bounds = 2 * bounds_of(expected[0]["delta"]) + np.abs(want)
    bench.compare("delta", got["delta"], want, f"round of {e.steps[0]} steps", bounds)


def _noise_adds(bench: Bench, s: Scenario) -> None:
    """The aggregate with noise is that without, plus sigma c z / |S|."""
    h, (e, *_) = s.case.hyper, rounds_of(s)
    s = replace(s, events=(e,))
    expected = bench.expect(s)
    quiet = shown(bench.play(with_hyper(s, sigma=0.0))[0], "delta")[0]
    want = quiet + h["sigma"] * h["clip_norm"] * np.array(e.noise) / len(e.steps)
    got = bench.play(s)[0]
    shown(got, "delta")
    bounds = 2 * bounds_of(expected[0]["delta"]) + np.abs(want) + np.abs(quiet)
    bench.compare("delta", got["delta"], want, "round 1", bounds)


BOTH: tuple[Level, ...] = ("client", "round")
LAWS = (
    Law(
        id="turns",
        words="turning gradients, problem and start turns the path: no coordinate is special",
        levels=BOTH,
        source="FedNova, eq. (2); FedAda2, App. A, eq. (2) (L377): vectors enter as a whole",
        cases=_turned,
        check=_turns_along,
        applies=both(fact(Fact.ISOTROPIC), if_option("server", "average")),
    ),
    law(
        id="private-clip",
        words="a client's change keeps its direction; its length is the smaller of its own and c",
        source="App. H.1 (L1647), clip value c; flat clipping (external)",
        cases=_alone,
        check=_shortened,
        applies=both(fact(Fact.PRIVATE), if_option("clipped", "change")),
        shows="delta",
        needs=("clip_norm", "sigma"),
    ),
    law(
        id="private-noise",
        words="noise adds sigma c z / |S| to the aggregate, after clipping, and once",
        source="App. H.1 (L1639), noise multiplier sigma; DP-FedAvg (external)",
        cases=round_scenarios,
        check=_noise_adds,
        applies=fact(Fact.PRIVATE),
        shows="delta",
        needs=("sigma",),
        zeroes=("sigma",),
    ),
)
