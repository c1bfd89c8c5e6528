"""Laws of clients whose changes have bounded length: normalised steps, clipped changes with noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Begin, Event, Gradient, Level, Round
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec.readings import Clipped
from fedspec_properties.joint import BOUNDED, FAR, law, rounds_of, shown, slack_of
from fedspec_suite.laws.asked import any_fact, both, fact, if_option, option, stabilised, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related
from fedspec_suite.measure.bench import THRESHOLD, Bench
from fedspec_suite.measure.cases import client_scenarios, round_scenarios
from fedspec_suite.measure.parts import above_zero, draw_quadratics, vectors
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation

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


def _no_longer(bench: Bench, s: Scenario) -> None:
    """A step has the direction of -g, and a length below eta_l."""
    rate, expected = s.case.hyper["eta_l"], bench.expect(s)
    x = flatten(s.case.x0).astype(float)
    before = np.abs(x)
    for k, (e, got) in enumerate(zip(s.events, bench.play(s), strict=True)):
        if isinstance(e, Begin):
            x = flatten(e.x).astype(float)
            before = np.abs(x)
            continue
        assert isinstance(e, Gradient)
        g = flatten(e.g).astype(float)
        bounds = bounds_of(expected[k]["x"])
        slack = THRESHOLD * float(np.finfo(s.case.dtype).eps) * float(np.linalg.norm(before + bounds))
        step, size = got["x"] - x, float(np.linalg.norm(g))
        along = -float(step @ g) / size if size else 0.0
        across = float(np.linalg.norm(step + along * g / size)) if size else float(np.linalg.norm(step))
        for broken, note in (
            (along > rate + slack, f"a step of length {along:.6g} is longer than eta_l = {rate:g}"),
            (across > slack, "a step is not along its gradient"),
        ):
            if broken:
                raise Deviates(Deviation(bench.step_equation, f"step {k + 1}", note=note))
        x, before = got["x"].astype(float), bounds


def _bounded_change(bench: Bench, s: Scenario) -> None:
    h, expected = s.case.hyper, bench.expect(s)
    for k, (e, got) in enumerate(zip(rounds_of(s), bench.play(s), strict=True)):
        delta = shown(got, "delta")[0]
        reach = h["eta_l"] * float(np.mean(e.steps))
        if "clip_norm" in h:
            noise = h["sigma"] * float(np.linalg.norm(e.noise)) / len(e.steps)
            of_each = reach if s.case.options["clipped"] == Clipped.GRADIENTS else 1
            reach = h["clip_norm"] * (of_each + noise)
        size, slack = float(np.linalg.norm(delta)), float(np.linalg.norm(slack_of(s, expected[k], "delta")))
        if size > reach + slack:
            note = f"a change of length {size:.6g} is longer than its bound {reach:.6g}"
            raise Deviates(Deviation(bench.equation_of("delta"), f"round {k + 1}", note=note))


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


def _constant(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Linear objectives: a client's gradients are the same everywhere."""

    def constant(s: Scenario) -> Scenario:
        assert s.case.problem is not None
        return replace(s, case=replace(s.case, problem=replace(s.case.problem, H=s.case.problem.H * 0)))

    return round_scenarios(setting).map(constant)


def _louder(bench: Bench, s: Scenario) -> None:
    problem, c = s.case.problem, s.case.hyper["clip_norm"]
    assert problem is not None
    factors = np.where(np.linalg.norm(problem.e.astype(float), axis=1) >= c, 4, 1).astype(problem.e.dtype)
    louder = replace(s, case=replace(s.case, problem=replace(problem, e=problem.e * factors[:, None])))
    related(bench, s, louder, lambda k, x: x)


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
    Law(
        id="normalised-step",
        words="a step is along its gradient and no longer than eta_l",
        levels=("client",),
        source="FedAda2, App. A, eq. (2) (L377)",
        cases=client_scenarios,
        check=_no_longer,
        applies=fact(Fact.NORMALISED),
    ),
    law(
        id="bounded-change",
        words="the aggregate is no longer than the mean of what each step, or the clip and its noise, allow",
        source="App. A, eq. (2) (L377); DP-FedAvg (external)",
        cases=round_scenarios,
        check=_bounded_change,
        applies=both(
            any_fact(*BOUNDED),
            unless(
                both(option("clipped", Clipped.GRADIENTS), stabilised), "its changes are quotients of clipped gradients"
            ),
        ),
        shows="delta",
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
        id="private-gradients",
        words="of gradients that are clipped, those that are c long already may be as long as they like",
        source="App. H.1 (L1647), gradient clip value c",
        cases=_constant,
        check=_louder,
        applies=both(fact(Fact.PRIVATE), if_option("clipped", "gradients")),
        needs=("clip_norm",),
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
