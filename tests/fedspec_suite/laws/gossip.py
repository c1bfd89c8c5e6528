"""Laws of algorithms with a server whose clients mix: explicit matrices, conservation, consensus, scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.contract import Exchange, Level, Quadratics
from fedspec.params import flatten
from fedspec_suite.laws.affine import exchanged, stacked, unit, votes, zeros
from fedspec_suite.laws.common import related
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.reductions.gossip import complete, exchanges, size, unmixed
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import draw_some, exchange_scenarios
from fedspec_suite.measure.running import Running
from fedspec_suite.measure.scenario import Scenario, lift, with_hyper
from fedspec_suite.measure.setting import Setting

Pair = tuple[Scenario, Scenario]
Applies = Callable[[Setting], str]

SERVED = {"afga", "gossip-fedamsgrad", "afga-a", "cafga", "cafga-a"}
PEERS = {"dsgd", "dadam", "gossip-pga"}
TRACE: tuple[Level, ...] = ("trace",)


def of(names: set[str], *reasons: Applies) -> Applies:
    """One of these algorithms against which none of the reasons speaks."""

    def applies(setting: Setting) -> str:
        if setting.algorithm.id not in names:
            return f"it is about {', '.join(sorted(names))}"
        return next(filter(None, (reason(setting) for reason in reasons)), "")

    return applies


def drawn(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Plain scenarios."""
    return exchange_scenarios(setting)


def with_problem(s: Scenario, change: Callable[[Quadratics], Quadratics]) -> Scenario:
    """The scenario with other objectives."""
    problem = s.case.problem
    assert problem is not None
    return replace(s, case=replace(s.case, problem=change(problem)))


def running(a: Array) -> Array:
    """Fractions as running numbers."""
    out = np.empty(a.shape, dtype=object)
    for place, q in np.ndenumerate(a):
        out[place] = Running(q)
    return out


def exactly(x: Array) -> Array:
    """Floats as fractions."""
    return np.array([Fraction(float(v)) for v in x], dtype=object)


def bounds_of(numbers: Array) -> Array:
    """The error bounds of running numbers."""
    return np.array([w.bound for w in numbers])


def direction(deltas: list[Array], h: Any, inside: bool) -> Array:
    """m / sqrt(v_hat + eps) after some rounds, as sums over all of them."""
    R = len(deltas)
    m = sum((1 - h["beta1"]) * h["beta1"] ** (R - r) * delta for r, delta in enumerate(deltas, 1))
    seconds = [
        sum((1 - h["beta2"]) * h["beta2"] ** (s - r) * delta * delta for r, delta in enumerate(deltas[:s], 1))
        for s in range(1, R + 1)
    ]
    v_hat = [max(column) for column in zip(*seconds, strict=True)]
    roots = [(x + h["eps"]).sqrt() if inside else x.sqrt() + h["eps"] for x in v_hat]
    return np.array([a / b for a, b in zip(np.asarray(m), roots, strict=True)], dtype=object)


def served_models(s: Scenario) -> list[Array]:
    """The model after each round: Delta by matrices, the server's steps summed."""
    exact, lifted = lift(s, Fraction), lift(s, Running)
    h, n = lifted.case.hyper, size(s)
    x = start = flatten(lifted.case.x0)
    X = np.tile(x, n)
    deltas: list[Array] = []
    steps, out = np.zeros(len(x)), []
    for e in exact.events:
        assert isinstance(e, Exchange)
        A, b = exchanged(exact, e, unit(n * len(x)))
        X = running(A) @ np.where(_heard(s, e, len(x)), np.tile(x, n), X) + running(b)
        deltas.append(running(votes(exact, e)) @ X.reshape(n, -1) - x)
        steps = steps + direction(deltas, h, s.case.options["epsilon"] == "inside")
        x = start + h["eta"] * steps
        out.append(x)
    return out


def _heard(s: Scenario, e: Exchange, d: int) -> Array:
    """Which coordinates of the stack begin a round at the server's model."""
    everyone = s.case.options.get("broadcast", "all") == "all"
    heard = [everyone or i in e.senders or any(e.mixing[i, j] > 0 for j in e.senders) for i in range(size(s))]
    return np.repeat(heard, d)


def _follows_history(bench: Bench, s: Scenario) -> None:
    scale = bench.expect(s)
    with digits():
        want = served_models(s)
    for k, got in enumerate(bench.play(s)):
        bench.compare("x", got["x"], want[k], f"round {k + 1}", bounds_of(scale[k]["x"]))


def _delta_by_matrices(bench: Bench, s: Scenario) -> None:
    exact, scale, n = lift(s, Fraction), bench.expect(s), size(s)
    x = flatten(exact.case.x0)
    for k, (e, got) in enumerate(zip(exact.events, bench.play(s), strict=True)):
        assert isinstance(e, Exchange)
        A, b = exchanged(exact, e, stacked(zeros(n, 1) + 1, len(x)))
        want = votes(exact, e) @ (A @ x + b).reshape(n, -1) - x
        bench.compare("delta", got["delta"], want, f"round {k + 1}", bounds_of(scale[k]["delta"]))
        bench.finite("x", got["x"], f"round {k + 1}")
        x = exactly(got["x"])


@st.composite
def _constant(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Constant gradients; every client sends, or every client that mixes."""
    sets = "one-set" in setting.takes
    s: Scenario = draw(exchange_scenarios(setting, everyone=sets))
    if not sets and setting.options.get("sampling") != "round":
        s = exchanges(s, lambda e: replace(e, senders=tuple(range(size(s)))))
    return with_problem(s, lambda p: replace(p, H=p.H * 0))


def _conserves(bench: Bench, s: Scenario) -> None:
    exact, scale = lift(s, Fraction), bench.expect(s)
    problem = exact.case.problem
    assert problem is not None
    for k, (e, got) in enumerate(zip(exact.events, bench.play(s), strict=True)):
        assert isinstance(e, Exchange)
        c = votes(exact, e)
        want = exact.case.hyper["eta_l"] * sum(c[i] * problem.e[i] for S in e.computing for i in S)
        bench.compare("delta", got["delta"], want, f"round {k + 1}", bounds_of(scale[k]["delta"]))


@st.composite
def _complete(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(exchange_scenarios(setting, clients=(4, 4)))
    s = exchanges(s, complete)
    return s, exchanges(s, lambda e: replace(e, senders=draw_some(draw, 4)))


@st.composite
def _idle(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Some rounds, then two in which nobody computes."""
    s: Scenario = draw(exchange_scenarios(setting))
    last = s.events[-1]
    assert isinstance(last, Exchange)
    return replace(s, events=(*s.events, *(replace(last, computing=()),) * 2))


def _coasts(bench: Bench, s: Scenario) -> None:
    scale, beta1 = bench.expect(s), float(s.case.hyper["beta1"])
    path = [flatten(s.case.x0), *(got["x"] for got in bench.play(s))]
    bounds = [np.abs(path[0]), *(bounds_of(w["x"]) for w in scale)]
    for k in (-2, -1):
        before, now = path[k - 2].astype(float), path[k - 1].astype(float)
        # All three models are rounded.
        error = bounds[k] + (1 + beta1) * bounds[k - 1] + beta1 * bounds[k - 2]
        bench.compare("x", path[k], now + beta1 * (now - before), f"round {len(path) + k}", error)


@st.composite
def _alike(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(exchange_scenarios(setting, clients=(2, 4), everyone=True))

    def same(p: Quadratics) -> Quadratics:
        return replace(p, H=np.repeat(p.H[:1], len(p.H), 0), e=np.repeat(p.e[:1], len(p.e), 0))

    s = with_problem(s, same)
    return s, exchanges(s, unmixed)


def _same(bench: Bench, pair: Pair) -> None:
    related(bench, *pair, lambda k, x: x)


@st.composite
def _steeper(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(exchange_scenarios(setting))
    steep = with_problem(s, lambda p: replace(p, H=p.H * 4, e=p.e * 4))
    return s, with_hyper(steep, eta_l=s.case.hyper["eta_l"] / 4)


def _wider(bench: Bench, s: Scenario) -> None:
    h = s.case.hyper
    inside = s.case.options["epsilon"] == "inside"
    wide = with_problem(s, lambda p: replace(p, e=p.e * 4))
    wide = replace(wide, case=replace(wide.case, x0={n: a * 4 for n, a in s.case.x0.items()}))
    wide = with_hyper(wide, eta=h["eta"] * 4, eps=h["eps"] * (16 if inside else 4))
    related(bench, s, wide, lambda k, x: 4 * x)


def _peaks(bench: Bench, s: Scenario) -> None:
    scale = bench.expect(s)
    peak = np.zeros(len(flatten(s.case.x0)))
    for k, got in enumerate(bench.play(s)):
        if "v" in got:
            peak = np.maximum(peak, got["v"].astype(float))
            bench.compare("v_hat", got["v_hat"], peak, f"round {k + 1}", bounds_of(scale[k]["v_hat"]))


def _from_the_server(setting: Setting) -> str:
    return "its clients go on from their own models" if setting.options.get("broadcast") == "neighbours" else ""


LAWS = (
    Law(
        id="gossip-history",
        words="on quadratics the model is the sum of the server's steps, each from one affine map of all clients' "
        "models",
        levels=TRACE,
        source="AFGA, Algs. 1 and 2: X = W (X - eta_l D_S G)",
        cases=drawn,
        check=_follows_history,
        applies=of(SERVED),
    ),
    Law(
        id="gossip-delta",
        words="on quadratics Delta is one affine map of the model that the round began with",
        levels=TRACE,
        source="AFGA, Algs. 1 and 2: X = W (X - eta_l D_S G)",
        cases=drawn,
        check=_delta_by_matrices,
        applies=of(SERVED, _from_the_server),
        shows="delta",
    ),
    Law(
        id="gossip-conserves",
        words="mixing moves no mean: with constant gradients Delta is their sum, whatever W",
        levels=TRACE,
        source="AFGA, eqs. (9)-(11)",
        cases=_constant,
        check=_conserves,
        applies=of(SERVED),
        shows="delta",
    ),
    Law(
        id="gossip-complete",
        words="where everybody mixes with everybody alike (W = J) it does not matter who sends",
        levels=TRACE,
        source="AFGA, Alg. 1 with W = J",
        cases=_complete,
        check=_same,
        applies=of({"afga"}),
    ),
    Law(
        id="gossip-coasts",
        words="in a round without local steps the model goes on by beta1 times its last displacement",
        levels=TRACE,
        source="AFGA, Alg. 1, lines 19-22 with Delta = 0: v falls and v_hat stays",
        cases=_idle,
        check=_coasts,
        applies=of(SERVED),
    ),
    Law(
        id="gossip-consensus",
        words="clients with one objective that all compute agree, whatever W",
        levels=TRACE,
        source="W 1 = 1 (AFGA, Assumption 4.5)",
        cases=_alike,
        check=_same,
        applies=of(SERVED | PEERS),
    ),
    Law(
        id="gossip-local-rate",
        words="objectives times 4 and a client rate over 4 change nothing",
        levels=TRACE,
        source="AFGA, Alg. 1, line 10: the gradient enters as eta_l g",
        cases=_steeper,
        check=_same,
        applies=of(SERVED | {"dsgd", "gossip-pga"}),
        needs=("eta_l",),
    ),
    Law(
        id="gossip-stretches",
        words="four times the distances, four times the server's rate, and eps with Delta^2: a path four times as long",
        levels=TRACE,
        source="homogeneity of AFGA, Alg. 1, lines 19-22",
        cases=drawn,
        check=_wider,
        applies=of(SERVED),
        needs=("eta", "eps"),
    ),
    Law(
        id="gossip-peak",
        words="v_hat is the largest v so far",
        levels=TRACE,
        source="AFGA, Alg. 1, line 21",
        cases=drawn,
        check=_peaks,
        applies=of(SERVED),
        shows="v_hat",
    ),
)
