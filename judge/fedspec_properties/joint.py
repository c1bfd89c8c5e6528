"""Laws of FedAda2's methods: adaptive clients under an adaptive server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.contract import Level, Quadratics, Round
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec.readings import Adaptivity
from fedspec_properties.closed_forms.fedada2 import models
from fedspec_properties.closed_forms.sums import average, total
from fedspec_suite.laws.asked import Word, any_fact, both, fact, if_option
from fedspec_suite.laws.law import Check, Law
from fedspec_suite.laws.relations import same_bits
from fedspec_suite.measure.bench import THRESHOLD, Bench, Shown
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.running import bounds_of, from_floats
from fedspec_suite.measure.scenario import Scenario, at_rest, running, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation, NotOffered

ROUND: tuple[Level, ...] = ("round",)
FAR = 2.0**20
BOUNDED = (Fact.NORMALISED, Fact.PRIVATE)
"""Clients whose changes have bounded length."""


def rounds_of(s: Scenario) -> list[Round]:
    """The events, which are rounds."""
    return [e for e in s.events if isinstance(e, Round)]


def slack_of(s: Scenario, want: Shown, name: str) -> Array:
    """What rounding may add to an inequality."""
    return THRESHOLD * float(np.finfo(s.case.dtype).eps) * bounds_of(want[name])


def shown(got: Shown, *names: str) -> list[Array]:
    """The named vectors of an answer, in double precision.

    Raises:
        NotOffered: a named vector is missing.
    """
    if missing := [n for n in names if n not in got]:
        raise NotOffered(f"not offered: {missing[0]} is not shown")
    return [got[n].astype(float) for n in names]


def refuse(bench: Bench, name: str, k: int, broken: Array, got: Array, want: Array, note: str) -> None:
    """Raise a deviation at the first broken entry, if there is one."""
    if broken.any():
        j = int(np.argmax(broken))
        equation = bench.equation_of(name)
        raise Deviates(Deviation(equation, f"round {k + 1}", j, float(got[j]), float(want[j]), None, note))


def _follows_history(bench: Bench, s: Scenario) -> None:
    with digits():
        want = list(models(running(s)))
    bench.follows(s, want)


def _sums(bench: Bench, s: Scenario) -> None:
    """The shown moments are sums over the shown changes."""
    with digits():
        h = running(s).case.hyper
        start = np.array([h["v0"]] * flatten(s.case.x0).size, dtype=object)
        rows: list[Array] = []
        for k, got in enumerate(bench.play(s)):
            delta, _, _ = shown(got, "delta", "m", "v")
            rows.append(from_floats(delta, s.case.dtype))
            squares = [row * row for row in rows]
            adam = s.case.options.get("server") == Adaptivity.ADAM
            v = average(h["beta2"], squares, start) if adam else total([start, *squares])
            bench.compare("m", got["m"], average(h["beta1"], rows), f"round {k + 1}")
            bench.compare("v", got["v"], np.asarray(v), f"round {k + 1}")


def _reach(bench: Bench, s: Scenario) -> None:
    """Cauchy and Schwarz on m against v >= sum of Delta^2, and sqrt(v) + tau >= 2 tau."""
    h, expected = s.case.hyper, bench.expect(s)
    b, x, past = h["beta1"], flatten(s.case.x0).astype(float), [np.abs(flatten(s.case.x0) * 0.0)]
    before = np.abs(x)
    for k, got in enumerate(bench.play(s)):
        past.append(np.abs(shown(got, "delta")[0]))
        T = k + 1
        by_sums = (1 - b) * np.sqrt((1 - b ** (2 * T)) / (1 - b * b))
        by_tau = (1 - b**T) * np.max(past, axis=0) / (2 * h["tau"])
        longest = h["eta"] * np.minimum(by_sums, by_tau)
        moved = np.abs(got["x"] - x)
        slack = slack_of(s, expected[k], "x") + THRESHOLD * float(np.finfo(s.case.dtype).eps) * before
        refuse(bench, "x", k, moved > longest + slack, moved, longest, "the server's step is longer than its bound")
        x, before = got["x"].astype(float), np.abs(got["x"]) + bounds_of(expected[k]["x"])


def _grows(bench: Bench, s: Scenario) -> None:
    h, expected = s.case.hyper, bench.expect(s)
    keep = h["beta2"] if s.case.options.get("server") == Adaptivity.ADAM else 1.0
    v = np.full(flatten(s.case.x0).size, h["v0"])
    for k, got in enumerate(bench.play(s)):
        after, slack = shown(got, "v")[0], slack_of(s, expected[k], "v")
        refuse(bench, "v", k, after < keep * v - slack, after, keep * v, "v falls faster than its decay")
        v = after


def _one_at_a_time(bench: Bench, s: Scenario) -> None:
    first = rounds_of(s)[0]
    wanted = bench.expect(s)[0]["delta"]
    alone = []
    for p, (i, tau) in enumerate(zip(first.participants, first.steps, strict=True)):
        one = replace(
            first,
            participants=(i,),
            steps=(tau,),
            strategies=first.strategies[p : p + 1],
            scales=first.scales[p : p + 1],
        )
        alone.append(shown(bench.play(replace(s, events=(one,)))[0], "delta")[0])
    mean = np.mean(alone, axis=0)
    got = bench.play(replace(s, events=(first,)))[0]
    shown(got, "delta")
    bounds = 2 * bounds_of(wanted) + np.mean(np.abs(alone), axis=0)
    bench.compare("delta", got["delta"], mean, "round 1", bounds)


def silent(s: Scenario) -> Scenario:
    """The same without noise."""
    return with_hyper(s, sigma=0.0) if "sigma" in s.case.hyper else s


def quiet(s: Scenario) -> Scenario:
    """The same without noise, and without a change that is long enough to be clipped."""
    return with_hyper(silent(s), clip_norm=FAR) if "clip_norm" in s.case.hyper else s


def _one_round(setting: Setting) -> st.SearchStrategy[Scenario]:
    return round_scenarios(setting, rounds=(1, 1)).map(silent)


@st.composite
def _undone(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario]:
    """A run from 0, and the same after a round in which the changes of a client and its reflection cancel."""
    s = at_rest(silent(draw(round_scenarios(setting, rounds=(1, 2), clients=(1, 3)))))
    problem = s.case.problem
    assert problem is not None
    n = len(problem.H)
    both = Quadratics(*(np.concatenate([a, b]) for a, b in _reflected(problem)))
    x0 = {name: a * 0 for name, a in s.case.x0.items()}
    s = replace(s, case=replace(s.case, x0=x0, problem=both))
    if s.case.options.get("server") == Adaptivity.ADAM:
        # Nothing must be left of v_0, which decays.
        s = with_hyper(s, v0=0.0)
    first = rounds_of(s)[0]
    pair = replace(
        first,
        participants=(first.participants[0], n + first.participants[0]),
        steps=first.steps[:1] * 2,
        strategies=first.strategies[:1] * 2,
        scales=first.scales[:1] * 2,
    )
    return s, replace(s, events=(pair, *s.events))


def _reflected(problem: Quadratics) -> Iterator[tuple[Array, Array]]:
    yield problem.H, problem.H
    yield problem.e, -problem.e
    yield problem.examples, problem.examples


def _leaves_no_trace(bench: Bench, pair: tuple[Scenario, Scenario]) -> None:
    s, late = pair
    note = "a round whose changes cancel is remembered by the clients"
    same_bits(bench, s, bench.play(s), bench.play(late)[1:], note)


def law(id: str, words: str, source: str, cases: Any, check: Check, applies: Word, **more: Any) -> Law:
    """A law of whole rounds from FedAda2."""
    return Law(
        id=id, words=words, levels=ROUND, source=f"FedAda2, {source}", cases=cases, check=check, applies=applies, **more
    )


LAWS = (
    law(
        id="joint-history",
        words="clients and server from all gradients and changes so far, in sums: no state of a client outlives its "
        "round",
        source="Algs. 1, 2, 5, 8 and 10 unrolled: eq. (19) and L1136",
        cases=round_scenarios,
        check=_follows_history,
        applies=any_fact(Fact.JOINT, *BOUNDED),
    ),
    law(
        id="joint-moments",
        words="the server's moments are sums over the changes that it shows",
        source="eq. (SU) (L100) and L1136",
        cases=round_scenarios,
        check=_sums,
        applies=fact(Fact.JOINT),
        shows="m",
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
    law(
        id="joint-v-grows",
        words="the server's second moment never falls, or falls by its decay alone",
        source="eq. (SU) (L100) and App. C.2 (L1136)",
        cases=round_scenarios,
        check=_grows,
        applies=fact(Fact.JOINT),
        shows="v",
    ),
    law(
        id="joint-alone",
        words="the aggregate is the mean over the draws of what each client would change alone",
        source="eq. (SU) (L100); Alg. 5 (L1172, L1181): S is a multiset, and |S| divides",
        cases=_one_round,
        check=_one_at_a_time,
        applies=any_fact(Fact.JOINT, *BOUNDED),
        shows="delta",
    ),
    law(
        id="joint-afresh",
        words="a round whose changes cancel leaves no trace: local state is made afresh",
        source="Alg. 1 (L108): local statistics from zero in each round",
        cases=_undone,
        check=_leaves_no_trace,
        applies=any_fact(Fact.JOINT, *BOUNDED),
    ),
)
