"""Laws of clients that compress their messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.contract import Level, Quadratics, Round
from fedspec.params import flatten, unflatten
from fedspec_properties.closed_forms.compressed import PLAIN, change, place, rounded_path
from fedspec_properties.joint import refuse, vectors_of
from fedspec_properties.reductions.edge import translated
from fedspec_properties.unrolled import follows
from fedspec_suite.laws.applicability import option, takes
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import THRESHOLD, Bench, reference
from fedspec_suite.measure.case_parts import between
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, arranged, posed, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Undecided

ROUND: tuple[Level, ...] = ("round",)


# Rounding at random.


# What is sent of a vector, and what is kept of it.


@st.composite
def _one_a_round(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Draw rounds of a single client, perhaps the same again; of all clients if all must take part."""
    s: Scenario = draw(round_scenarios(setting, rounds=(2, 4), clients=(1, 3)))
    if "everyone" in setting.takes:
        return s
    events = (arranged(e, [draw(between(0, len(e.steps) - 1))]) for e in s.events if isinstance(e, Round))
    return replace(s, events=tuple(events))


@dataclass(frozen=True)
class Sending:
    """Compression by a client in a round: the whole change, the part sent and the rest.

    Attributes:
        round: the number of the round, from 0.
        whole: [d] the change before compression, by the matrix of the client's steps, from the model shown.
        sent: [d] the change that the client sends, as shown.
        left: [d] the rest that the client keeps, as shown; else ``whole`` minus ``sent``.
        bounds: [d] scale of the rounding errors of these vectors.
    """

    round: int
    whole: Array
    sent: Array
    left: Array
    bounds: Array


def _sendings(bench: Bench, s: Scenario) -> Iterator[Sending]:
    """Yield compressions of a run: of a single client a round with error memory, or of all differences."""
    z, x = place(s), flatten(s.case.x0)
    memory: dict[int, Array] = {}
    remembers = "e_i" in bench.algorithm.shows
    for k, (e, got) in enumerate(zip(s.events, bench.play(s), strict=True)):
        assert isinstance(e, Round)
        sent = vectors_of(got, "delta" if remembers else "c_i")[0].reshape(len(e.steps), -1)
        for i, tau, c in zip(e.participants, e.steps, sent, strict=True):
            # Which entries are sent may hang on rounding, but not what a change, or a gradient, is rounded by.
            one = replace(e, participants=(i,), steps=(tau,))
            numbers = {"eta": 1, "eta_l": s.case.hyper.get("eta_l", 1)}
            there = posed(s, x0=unflatten(x, s.case.x0))
            plain = translated(there, PLAIN, [one], hyper=numbers, options={"weights": "uniform"})
            with digits():
                at = np.array([Decimal(float(a)) for a in x], dtype=object)
                moved = (change(z, i, at, tau) if remembers else z.problem.H[i] @ at - z.problem.e[i]).astype(float)
            before = memory.get(i, 0.0 * moved)
            whole = moved + before
            left = vectors_of(got, "e_i")[0] if remembers else whole - c
            bounds = bounds_of(reference(plain)[0]["delta"]) + np.abs(before) + np.abs(c) + np.abs(left) + np.abs(x)
            memory[i] = left if remembers else before - c
            if remembers or k or s.case.options["first"] == "compressed":
                yield Sending(k, whole, c, left, bounds)
        x = got["x"]


def _keeps_account(bench: Bench, s: Scenario) -> None:
    for r in _sendings(bench, s):
        bench.compare("e_i", r.sent + r.left, r.whole, f"round {r.round + 1}", r.bounds)


def _one_constant(draw: st.DrawFn, setting: Setting, sizes: tuple[int, ...], **numbers: Any) -> Scenario:
    """Draw a client with a constant gradient, whose entries are of few sizes, none of them 0."""
    s: Scenario = draw(round_scenarios(setting, rounds=(1, 3), clients=(1, 1), everyone=True))
    d = draw(between(2, 6))
    e = np.array([[draw(st.sampled_from(sizes)) * draw(st.sampled_from((-1, 1))) for _ in range(d)]])
    problem = Quadratics(np.zeros((1, d, d), dtype=setting.dtype), e.astype(setting.dtype), np.ones(1))
    case = replace(s.case, x0={"w": np.zeros(d, dtype=setting.dtype)}, problem=problem)
    return with_hyper(replace(s, case=case), **numbers)


@st.composite
def _tied(draw: st.DrawFn, setting: Setting) -> Scenario:
    s = _one_constant(draw, setting, (1, 2), kept=draw(between(1, 5)))
    return replace(s, events=(Round((0,), (1,)),))


@st.composite
def _untied(draw: st.DrawFn, setting: Setting) -> Scenario:
    return _one_constant(draw, setting, (1, 2, 4, 8, 16))


def _first_of_equals(bench: Bench, s: Scenario) -> None:
    """Check the choice among equal sizes, in numbers that need no rounding."""
    problem, k = s.case.problem, s.case.hyper["kept"]
    assert problem is not None
    change = s.case.hyper["eta_l"] * problem.e[0].astype(float)
    first = sorted(range(len(change)), key=lambda j: (-abs(change[j]), j))[:k]
    want = np.array([a if j in first else 0.0 for j, a in enumerate(change)])
    got = bench.play(s)[0]
    vectors_of(got, "delta")
    bench.compare("delta", got["delta"], want, "round 1", np.abs(change))


def _at_right_angles(bench: Bench, s: Scenario) -> None:
    """Check that sent entries have one size and the right signs, and that the rest is orthogonal to them."""
    eps = THRESHOLD * float(np.finfo(s.case.dtype).eps)
    name = "delta" if "e_i" in bench.algorithm.shows else "c_i"
    for r in _sendings(bench, s):
        c, slack = r.sent, eps * r.bounds
        if not (np.abs(r.whole) > slack).all():
            raise Undecided("a sign depends on rounding")
        size = float(np.mean(np.abs(c)))
        dot, room = float(r.left @ c), float((np.abs(c) + np.abs(r.left)) @ slack)
        for broken, note in (
            (c * r.whole <= 0, "the sign is not that of what was to be sent"),
            (np.abs(np.abs(c) - size) > slack, "entries differ in size"),
            (np.full(len(c), abs(dot) > room), "what is left is not at right angles to what is sent"),
        ):
            refuse(bench, name, r.round, broken, c, r.whole, note)


def _path_of_messages(bench: Bench, s: Scenario) -> None:
    """X moves by minus eta times the mean of all that was ever sent."""
    x = flatten(s.case.x0).astype(float)
    known, size = 0.0 * x, np.abs(x)
    for k, got in enumerate(bench.play(s)):
        rows = vectors_of(got, "c_i")[0].reshape(-1, len(x))
        known = known + rows.mean(axis=0)
        size = size + np.abs(rows).mean(axis=0)
        want = x - s.case.hyper["eta"] * known
        bounds = np.abs(x) + np.abs(want) + (k + 4) * s.case.hyper["eta"] * size
        bench.compare("x", got["x"], want, f"round {k + 1}", bounds)
        x = got["x"].astype(float)


LAWS = (
    Law(
        id="on-levels",
        words="on quadratics what arrives is a whole number of shares of the length, the least not below a - u",
        levels=ROUND,
        source="external: Alistarh et al. (2017): l + 1 where u < a - l is the ceiling of a - u",
        cases=round_scenarios,
        check=follows(rounded_path, lifted=False),
        applies=takes("draws"),
    ),
    Law(
        id="sent-and-owed",
        words="what a client sends and owes is what it owed and its change, of which a sitting client loses nothing",
        levels=ROUND,
        source="external: Wang, Lin and Chen (2022), their code; Stich, Cordonnier and Jaggi (2018)",
        cases=_one_a_round,
        check=_keeps_account,
        shows="e_i",
    ),
    Law(
        id="first-of-equals",
        words="of entries of one size those that come first are sent",
        levels=ROUND,
        source="ours: codes leave it to their sort",
        cases=_tied,
        check=_first_of_equals,
        applies=option("compressor", "top-k"),
        needs=("kept",),
        shows="delta",
    ),
    Law(
        id="signs-sent",
        words="what is sent has one size and the right signs, and is at right angles to what is left",
        levels=ROUND,
        source="external: Karimireddy et al. (2019): p . sign(p) = ||p||_1",
        cases=_untied,
        check=_at_right_angles,
        applies=option("compressor", "scaled-sign"),
    ),
    Law(
        id="path-of-messages",
        words="the model moves along the mean of all that clients ever sent, and along nothing else",
        levels=ROUND,
        source="external: Richtarik, Sokolov and Fatkhullin (2021): g_i is the sum of the messages",
        cases=round_scenarios,
        check=_path_of_messages,
        applies=takes("one-step"),
        shows="c_i",
    ),
)
