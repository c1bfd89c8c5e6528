"""Laws of Fed-LAMB and its baselines: closed forms, lengths of steps and rounds, and invariances."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.contract import Level, Round
from fedspec.facts import Fact
from fedspec.params import flatten, layers, shapes
from fedspec_properties.closed_forms.fed_lamb import length_factor, rounds
from fedspec_properties.closed_forms.sums import events_of, length
from fedspec_properties.reductions.edge import translated
from fedspec_suite.laws.applicability import both, fact, if_option, option, settable, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related, same
from fedspec_suite.measure.bench import THRESHOLD, Bench, Shown, reference
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.running_error import Running, bounds_of
from fedspec_suite.measure.scenario import Scenario, lift, louder, posed, problem_of, running, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation, Undecided

ALL = fact(Fact.PERIODIC)
AMS = fact(Fact.PERIODIC, Fact.ADAPTIVE)
LAMB = fact(Fact.PERIODIC, Fact.LAYERED)
BY_LAYER = if_option("normalisation", "layer")
IDENTITY = if_option("phi", "identity")
PARTICIPANTS = if_option("averaged", "participants")
OF_THE_ROUND = unless(option("averaged", "last-sent"), "it averages what the absent sent before, too")


def taken(s: Scenario, **values: float) -> Scenario:
    """Set hyper-parameters of the scenario, ignoring those that it doesn't have."""
    return with_hyper(s, **{n: v for n, v in values.items() if n in s.case.hyper})


BOX = "Fed-LAMB, Alg. 1, "
ROUND: tuple[Level, ...] = ("round",)


def compare(bench: Bench, s: Scenario, want: list[Array], name: str = "x") -> None:
    """Compare a vector after every round with ``want``, within the rule's rounding-error bounds."""
    scale = bench.expect(s)
    for k, got in enumerate(bench.play(s)):
        bounds = bounds_of(scale[k][name])
        if isinstance(want[k][0], Running):
            bounds = np.maximum(bounds, [w.bound for w in want[k]])
        bench.compare(name, got[name], want[k], f"round {k + 1}", bounds)


def rounds_of(s: Scenario) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield the divisor of each round's sum over clients, and each participant's number of steps."""
    n = len(problem_of(s).H)
    for e in events_of(Round, s):
        all_of_them = s.case.options.get("averaged") == "all"
        yield n if all_of_them else len(e.participants), list(zip(e.participants, e.steps, strict=True))


def _unrolled(bench: Bench, s: Scenario, name: str) -> None:
    with digits():
        runs = list(rounds(running(s)))
    compare(bench, s, [pair[name == "v_hat"] for pair in runs], name)


@st.composite
def _signed(draw: st.DrawFn, setting: Setting) -> Scenario:
    return with_hyper(draw(single_coordinates(setting)), beta1=0.0, lam=0.0)


def _steps_by_signs(bench: Bench, s: Scenario) -> None:
    """Every coordinate moves by eta_l phi(|x|) against the sign of its gradient, in exact numbers."""
    exact = lift(s, Fraction)
    h, o, p = exact.case.hyper, s.case.options, exact.case.problem
    assert p is not None
    x, want = list(flatten(exact.case.x0)), []
    for n, who in rounds_of(s):
        ends = []
        for i, T in who:
            y = list(x)
            for _ in range(T):
                seen = x if o["gradient"] == "stale" else y
                g = [
                    sum(a * b for a, b in zip(row, seen, strict=True)) - c
                    for row, c in zip(p.H[i], p.e[i], strict=True)
                ]
                y = [c - h["eta_l"] * _phi(abs(c), h, o) * ((d > 0) - (d < 0)) for c, d in zip(y, g, strict=True)]
            ends.append(y)
        x = [sum(column) / Fraction(n) for column in zip(*ends, strict=True)]
        want.append(np.array(x, dtype=object))
    compare(bench, s, want)


def _phi(length: Any, h: Any, o: Any) -> Any:
    if o["phi"] == "clip":
        return sorted((h["phi_m"], length, h["phi_M"]))[1]
    return length if o["phi"] == "identity" else Fraction(1)


@st.composite
def single_coordinates(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Draw a round whose blocks have one coordinate each."""
    s: Scenario = draw(round_scenarios(setting))
    x = flatten(s.case.x0)[: draw(st.integers(1, 3))]
    p, d = problem_of(s), len(x)
    return posed(s, H=p.H[:, :d, :d], e=p.e[:, :d], x0={f"p{j}": x[j : j + 1] for j in range(d)})


def _keeps_signs(bench: Bench, s: Scenario) -> None:
    x0 = flatten(s.case.x0)
    for k, got in enumerate(bench.play(s)):
        bench.compare("x", np.sign(got["x"]), np.sign(x0), f"round {k + 1}", np.ones(len(x0)))


@st.composite
def _first_step(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(round_scenarios(setting, rounds=(1, 1), clients=(1, 1)))
    return with_hyper(replace(s, events=(Round((0,), (1,)),)), lam=0.0)


def _rescales(bench: Bench, s: Scenario) -> None:
    """The first step of one client: in every layer that of Fed-AMS, with another length."""
    ams = translated(s, "fed-ams")
    with digits():
        exact = running(s)
        x0 = flatten(exact.case.x0)
        step, x = reference(ams)[0]["x"] - x0, x0.copy()
        for at in layers(shapes(s.case.x0)):
            size = length(step[at])
            if size > 0:
                phi = length_factor(length(x0[at]), exact.case.hyper, s.case.options)
                x[at] = x0[at] + exact.case.hyper["eta_l"] * phi * (step[at] / size)
    compare(bench, s, [x])


def _moves(s: Scenario, run: Sequence[Shown]) -> list[tuple[Array, Array]]:
    """The model before every round and after it."""
    xs = [flatten(s.case.x0).astype(float), *(got["x"].astype(float) for got in run)]
    return list(itertools.pairwise(xs))


@st.composite
def _single_steps(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(round_scenarios(setting, clients=(1, 3)))
    events = tuple(Round((draw(st.sampled_from(e.participants)),), (1,)) for e in s.events if isinstance(e, Round))
    return replace(s, events=events)


def _scaled(s: Scenario, length: float) -> float:
    if s.case.options["phi"] == "clip":
        return float(np.clip(length, s.case.hyper["phi_m"], s.case.hyper["phi_M"]))
    return length if s.case.options["phi"] == "identity" else 1.0


def _has_length(bench: Bench, s: Scenario) -> None:
    """Check that in a single step of a client, every layer moves by eta_l phi of its own length."""
    scale, before = bench.expect(s), [flatten(s.case.x0), *(w["x"] for w in bench.expect(s))]
    for k, (x, y) in enumerate(_moves(s, bench.play(s))):
        bench.finite("x", y, f"round {k + 1}")
        for at in layers(shapes(s.case.x0)):
            bound = sum(w.bound for w in scale[k]["x"][at]) + float(np.abs(x[at]).sum())
            rest = all(float(a) == float(b) for a, b in zip(before[k][at], before[k + 1][at], strict=True))
            want = 0.0 if rest else s.case.hyper["eta_l"] * _scaled(s, float(np.linalg.norm(x[at])))
            _near(bench, k, at.start, float(np.linalg.norm(y[at] - x[at])), want, bound, "the length of a layer's step")


def _near(bench: Bench, k: int, j: int, got: float, want: float, bound: float, what: str, below: bool = False) -> None:
    if not np.isfinite(bound):
        raise Undecided(f"{what} in round {k + 1}: rounding errors could hide a deviation")
    ratio = (got - want if below else abs(got - want)) / (float(np.finfo(bench.dtype).eps) * bound or 1.0)
    if not ratio <= THRESHOLD:
        raise Deviates(Deviation(bench.step_equation, f"round {k + 1}", j, got, want, ratio, what))


def _displaced(bench: Bench, s: Scenario) -> None:
    """No layer moves further than the mean of what its clients' steps add up to."""
    eta, scale = s.case.hyper["eta_l"], bench.expect(s)
    for k, (x, y) in enumerate(_moves(s, bench.play(s))):
        bench.finite("x", y, f"round {k + 1}")
        event = s.events[k]
        assert isinstance(event, Round)
        for at in layers(shapes(s.case.x0)):
            size = float(np.linalg.norm(x[at]))
            if s.case.options["phi"] == "identity":
                most = [((1 + eta) ** T - 1) * size for T in event.steps]
            else:
                most = [eta * T * s.case.hyper.get("phi_M", 1.0) for T in event.steps]
            bound = sum(w.bound for w in scale[k]["x"][at]) + size
            got, limit = float(np.linalg.norm(y[at] - x[at])), float(np.mean(most))
            _near(bench, k, at.start, got, limit, bound, "the longest that a layer's move can be", below=True)


LAYERED = both(LAMB, BY_LAYER, PARTICIPANTS)


Pair = tuple[Scenario, Scenario]


@st.composite
def _louder(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(round_scenarios(setting))
    h = s.case.hyper
    return s, taken(louder(s), v0=16 * h["v0"], eps=4 * h["eps"])


@st.composite
def _other_units(draw: st.DrawFn, setting: Setting) -> Pair:
    """Every coordinate in a unit four times smaller."""
    s: Scenario = draw(round_scenarios(setting))
    h, p = s.case.hyper, problem_of(s)
    there = posed(s, H=p.H / 16, e=p.e / 4, x0={n: 4 * a for n, a in s.case.x0.items()})
    there = taken(there, v0=h.get("v0", 0) / 16, eps=h.get("eps", 0) / 4, lam=h.get("lam", 0) / 4)
    there = taken(there, phi_m=4 * h.get("phi_m", 0), phi_M=4 * h.get("phi_M", 0))
    if "eps" not in h:
        return s, taken(there, eta_l=16 * h["eta_l"])
    by_layer = s.case.options.get("normalisation") == "layer" and s.case.options["phi"] != "constant"
    return s, there if by_layer else taken(there, eta_l=4 * h["eta_l"])


def _four_times(bench: Bench, pair: Pair) -> None:
    related(bench, *pair, lambda k, x: 4 * x)


LAWS = (
    Law(
        id="layerwise-history",
        words="the path from sums over all gradients so far, told apart by client, and maxima over all rounds",
        levels=ROUND,
        source=BOX + "lines 8-15 (L140-154), unrolled",
        cases=round_scenarios,
        check=partial(_unrolled, name="x"),
        applies=AMS,
    ),
    Law(
        id="layers-of-one",
        words="layers of one coordinate, beta1 = 0, lam = 0: steps by signs, whatever beta2, v_0 and eps",
        levels=ROUND,
        source=BOX + "line 12 (L147) in one dimension",
        cases=_signed,
        check=_steps_by_signs,
        applies=both(LAMB, BY_LAYER, OF_THE_ROUND),
        needs=("beta1", "lam"),
        zeroes=("beta1", "lam"),
    ),
    Law(
        id="layer-of-one-keeps-its-sign",
        words="phi the identity: a layer of one coordinate never changes sign",
        levels=ROUND,
        source=BOX + "line 12 (L147): a step is a share eta_l < 1 of its layer",
        cases=single_coordinates,
        check=_keeps_signs,
        applies=both(LAMB, IDENTITY, BY_LAYER, settable("eta_l", fits=lambda v: v < 1)),
    ),
    Law(
        id="first-step-is-that-of-fed-ams",
        words="lam = 0: one client's first step is that of Fed-AMS in every layer, with another length",
        levels=ROUND,
        source=BOX + "line 12 (L147): q over ||q|| points as q does",
        cases=_first_step,
        check=_rescales,
        applies=both(LAMB, BY_LAYER),
        needs=("lam",),
        zeroes=("lam",),
    ),
    Law(
        id="layer-step-length",
        words="one client, one step: every layer moves by eta_l phi of its length, or not at all",
        levels=ROUND,
        source=BOX + "line 12 (L147): q over ||q|| is a unit vector",
        cases=_single_steps,
        check=_has_length,
        applies=LAYERED,
    ),
    Law(
        id="layer-displacement",
        words="in a round no layer moves further than its clients' steps are long together, in the mean",
        levels=ROUND,
        source=BOX + "line 12 (L147), summed over T steps",
        cases=round_scenarios,
        check=_displaced,
        applies=LAYERED,
    ),
    Law(
        id="gradient-scale",
        words="objectives times 4, v_0 times 16 and eps times 4: the same path",
        levels=ROUND,
        source=BOX + "line 10 (L143): p does not change",
        cases=_louder,
        check=same,
        applies=AMS,
        needs=("v0", "eps"),
    ),
    Law(
        id="parameter-units",
        words="every coordinate in another unit, and all that is measured in it: the same path in that unit",
        levels=ROUND,
        source=BOX + "lines 8-15 (L140-154): every equation has one dimension",
        cases=_other_units,
        check=_four_times,
        applies=ALL,
        needs=("v0", "eps", "lam", "phi_m", "phi_M", "eta_l"),
    ),
)
