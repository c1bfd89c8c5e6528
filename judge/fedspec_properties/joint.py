"""Laws of FedAda2's methods: adaptive clients with an adaptive server, and clients whose changes are bounded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Event, Level, Round
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec.readings import Adaptivity
from fedspec_properties.closed_forms.fedada2 import models
from fedspec_properties.closed_forms.sums import events_of
from fedspec_properties.unrolled import follows
from fedspec_suite.laws.applicability import NOT_RETURNED, SKIPPED, Word, any_fact, both, fact, if_option
from fedspec_suite.laws.law import Check, Law
from fedspec_suite.measure.bench import THRESHOLD, Bench, Shown
from fedspec_suite.measure.case_parts import above_zero, draw_quadratics, vectors
from fedspec_suite.measure.cases import client_scenarios, round_scenarios
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, with_blocks, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.signed_permutation import transformed
from fedspec_suite.measure.verdict import Deviates, Deviation, NotOffered

ROUND: tuple[Level, ...] = ("round",)
FAR = 2.0**20
BOUNDED = (Fact.NORMALISED, Fact.PRIVATE)
"""Facts of algorithms whose clients' changes have bounded length."""


def slack_of(s: Scenario, want: Shown, name: str) -> Array:
    """Return the rounding allowance of a quantity for an inequality."""
    return THRESHOLD * float(np.finfo(s.case.dtype).eps) * bounds_of(want[name])


def vectors_of(got: Shown, *names: str) -> list[Array]:
    """Return the named vectors of an answer in double precision.

    Raises:
        NotOffered: a named vector is missing.
    """
    if missing := [n for n in names if n not in got]:
        raise NotOffered(f"{SKIPPED}{NOT_RETURNED}{missing[0]}")
    return [got[n].astype(float) for n in names]


def refuse(bench: Bench, name: str, k: int, broken: Array, got: Array, want: Array, note: str) -> None:
    """Raise a deviation at the first entry for which ``broken`` is true, if there is one."""
    if broken.any():
        j = int(np.argmax(broken))
        equation = bench.equation_of(name)
        raise Deviates(Deviation(equation, f"round {k + 1}", j, float(got[j]), float(want[j]), None, note))


def _reach(bench: Bench, s: Scenario) -> None:
    """Cauchy and Schwarz on m against v >= sum of Delta^2, and sqrt(v) + tau >= 2 tau."""
    h, expected = s.case.hyper, bench.expect(s)
    b, x, past = h["beta1"], flatten(s.case.x0).astype(float), [np.abs(flatten(s.case.x0) * 0.0)]
    before = np.abs(x)
    for k, got in enumerate(bench.play(s)):
        past.append(np.abs(vectors_of(got, "delta")[0]))
        T = k + 1
        by_sums = (1 - b) * np.sqrt((1 - b ** (2 * T)) / (1 - b * b))
        by_tau = (1 - b**T) * np.max(past, axis=0) / (2 * h["tau"])
        longest = h["eta"] * np.minimum(by_sums, by_tau)
        moved = np.abs(got["x"] - x)
        slack = slack_of(s, expected[k], "x") + THRESHOLD * float(np.finfo(s.case.dtype).eps) * before
        refuse(bench, "x", k, moved > longest + slack, moved, longest, "the server's step is longer than its bound")
        x, before = got["x"].astype(float), np.abs(got["x"]) + bounds_of(expected[k]["x"])


def law(id: str, words: str, source: str, cases: Any, check: Check, applies: Word, **more: Any) -> Law:
    """Return a law of whole rounds whose source is FedAda2."""
    return Law(
        id=id, words=words, levels=ROUND, source=f"FedAda2, {source}", cases=cases, check=check, applies=applies, **more
    )


TURN = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
"""Orthogonal matrix of dyadic numbers that mixes all coordinates."""


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
        if isinstance(e, Round):
            return replace(e, noise=tuple(vector().tolist())) if e.noise else e
        return with_blocks(e, lambda blocks: {"w": vector()})

    s = Scenario(replace(s.case, x0={"w": vector()}, problem=problem), tuple(map(event, s.events)))
    return s, transformed(s, lambda a: np.asarray(a @ TURN.astype(a.dtype).T))


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
    (e,) = events_of(Round, s)
    expected = bench.expect(s)
    free = vectors_of(bench.play(with_hyper(s, clip_norm=FAR))[0], "delta")[0]
    size = float(np.linalg.norm(free))
    want = free * min(1.0, s.case.hyper["clip_norm"] / size) if size else free
    got = bench.play(s)[0]
    vectors_of(got, "delta")
    bounds = 2 * bounds_of(expected[0]["delta"]) + np.abs(want)
    bench.compare("delta", got["delta"], want, f"round of {e.steps[0]} steps", bounds)


def _noise_adds(bench: Bench, s: Scenario) -> None:
    """The aggregate with noise is that without, plus sigma c z / |S|."""
    h, (e, *_) = s.case.hyper, events_of(Round, s)
    s = replace(s, events=(e,))
    expected = bench.expect(s)
    quiet = vectors_of(bench.play(with_hyper(s, sigma=0.0))[0], "delta")[0]
    want = quiet + h["sigma"] * h["clip_norm"] * np.array(e.noise) / len(e.steps)
    got = bench.play(s)[0]
    vectors_of(got, "delta")
    bounds = 2 * bounds_of(expected[0]["delta"]) + np.abs(want) + np.abs(quiet)
    bench.compare("delta", got["delta"], want, "round 1", bounds)


BOTH: tuple[Level, ...] = ("client", "round")

LAWS = (
    law(
        id="joint-history",
        words="clients and server from all gradients and changes so far, in sums: no state of a client outlives its "
        "round",
        source="Algs. 1, 2, 5, 8 and 10 unrolled: eq. (19) and L1136",
        cases=round_scenarios,
        check=follows(models),
        applies=any_fact(Fact.JOINT, *BOUNDED),
    ),
    law(
        id="joint-step-bound",
        words="no coordinate of the server's step is longer than Cauchy and Schwarz allow, nor than m over 2 tau",
        source="Lemma 16 (L778), with the factors that its proof gives away",
        cases=round_scenarios,
        check=_reach,
        applies=both(fact(Fact.JOINT), if_option("server", Adaptivity.ADAGRAD)),
        shows="delta",
    ),
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
