"""Laws of FedAda2's methods: adaptive clients under an adaptive server."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Level, Round
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec.readings import Adaptivity
from fedspec_properties.closed_forms.fedada2 import models
from fedspec_properties.unrolled import follows
from fedspec_suite.laws.asked import Word, any_fact, both, fact, if_option
from fedspec_suite.laws.law import Check, Law
from fedspec_suite.measure.bench import THRESHOLD, Bench, Shown
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, with_hyper
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


def silent(s: Scenario) -> Scenario:
    """The same without noise."""
    return with_hyper(s, sigma=0.0) if "sigma" in s.case.hyper else s


def quiet(s: Scenario) -> Scenario:
    """The same without noise, and without a change that is long enough to be clipped."""
    return with_hyper(silent(s), clip_norm=FAR) if "clip_norm" in s.case.hyper else s


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
)
