"""Laws of gossip with a server: explicit matrices, conservation, consensus, scale.

On quadratic clients a local step and an exchange are one affine map of all models, exactly:

    X -> A X + b,   A = (W x I) (I - eta_l D_S H),   b = (W x I) eta_l D_S e

with X the models one under the other, D_S the projector on the clients that compute and x the Kronecker product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.catalogue import find
from fedspec.contract import Exchange, Level, Quadratics
from fedspec.facts import Fact
from fedspec.linear import eye
from fedspec.params import flatten
from fedspec_properties.closed_forms.adaptive import AMSGRAD, direction
from fedspec_properties.closed_forms.sums import events_of
from fedspec_properties.reductions.rounds import complete, exchanges, size, unmixed
from fedspec_properties.unrolled import follows
from fedspec_suite.laws.applicability import any_fact, both, fact, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related, same
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.case_parts import draw_some
from fedspec_suite.measure.running_error import RUNNING
from fedspec_suite.measure.scenario import Scenario, lift, linear, louder, posed, problem_of, running, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.trace_cases import exchange_scenarios

Pair = tuple[Scenario, Scenario]

TRACE: tuple[Level, ...] = ("trace",)


def zeros(*shape: int) -> Array:
    """Return an array of zero fractions."""
    return np.full(shape, Fraction(0), dtype=object)


def unit(n: int) -> Array:
    """Return the n x n identity matrix."""
    return eye(zeros(n, n))


def stacked(matrix: Array, d: int) -> Array:
    """Return the Kronecker product with the identity on d coordinates."""
    return np.asarray(np.kron(matrix, unit(d)))


def descent(problem: Quadratics, S: Sequence[int], eta_l: Any) -> tuple[Array, Array]:
    """Return I - eta_l D_S H and eta_l D_S e."""
    n, d = problem.e.shape
    A, b = unit(n * d), zeros(n * d)
    for i in S:
        own = slice(i * d, (i + 1) * d)
        A[own, own] = A[own, own] - eta_l * problem.H[i]
        b[own] = eta_l * problem.e[i]
    return A, b


def mixings(s: Scenario, e: Exchange, n: int) -> Iterator[Array]:
    """Yield the mixing matrix [n, n] after each local step."""
    for S in e.computing:
        if "senders" not in find(s.case.algorithm).takes:
            yield e.mixing
            continue
        who = e.senders if s.case.options["sampling"] == "round" else S
        W = unit(n)
        W[np.ix_(who, who)] = e.mixing
        yield W


def steps(s: Scenario, e: Exchange) -> Iterator[tuple[Array, Array]]:
    """Yield the affine map of each local step of an exchange, as matrix and offset."""
    problem, o = s.case.problem, s.case.options
    assert problem is not None
    n, d = problem.e.shape
    for t, (S, W) in enumerate(zip(e.computing, mixings(s, e, n), strict=True)):
        if find(s.case.algorithm).has(Fact.EXACT_MEAN) and t == len(e.computing) - 1:
            W = zeros(n, n) + Fraction(1, n)
        (A, b), K = descent(problem, S, s.case.hyper["eta_l"]), stacked(W, d)
        match o.get("order", "adapt-then-combine"):
            case "adapt-then-combine":
                yield K @ A, K @ b
            case "gradient-at-combined":
                yield A @ K, b
            case _:
                yield K + A - unit(n * d), b


def exchanged(s: Scenario, e: Exchange, start: Array) -> tuple[Array, Array]:
    """Return the models after an exchange as a matrix, already multiplied by ``start``, and an offset."""
    A, b = start, zeros(len(start))
    for A_t, b_t in steps(s, e):
        A, b = A_t @ A, A_t @ b + b_t
    return A, b


def votes(s: Scenario, e: Exchange) -> Array:
    """Return the weight of each client's change in Delta."""
    problem = problem_of(s)
    n = len(problem.e)
    clusters = e.clusters or (tuple(range(n)),)
    sizes = s.case.options.get("cluster_weights") == "sizes"
    c = zeros(n)
    for V in clusters:
        sending = [i for i in e.senders if i in V]
        for i in sending:
            c[i] = (Fraction(len(V), n) if sizes else Fraction(1, len(clusters))) / len(sending)
    return c


def served_models(s: Scenario) -> list[Array]:
    """Return the model after each round: Delta by matrices, the server's steps summed."""
    exact, lifted, number = lift(s, Fraction), running(s), np.frompyfunc(RUNNING[s.case.dtype], 1, 1)
    h, n = lifted.case.hyper, size(s)
    x = start = flatten(lifted.case.x0)
    X = np.tile(x, n)
    deltas: list[Array] = []
    steps, out = np.zeros(len(x)), []
    for e in events_of(Exchange, exact):
        A, b = exchanged(exact, e, unit(n * len(x)))
        X = number(A) @ np.where(_heard(s, e, len(x)), np.tile(x, n), X) + number(b)
        deltas.append(number(votes(exact, e)) @ X.reshape(n, -1) - x)
        steps = steps + direction(AMSGRAD, deltas, h, s.case.options, h["eps"])
        x = start + h["eta"] * steps
        out.append(x)
    return out


def _heard(s: Scenario, e: Exchange, d: int) -> Array:
    """Mask of the coordinates of the stack that begin a round at the server's model."""
    everyone = s.case.options.get("broadcast", "all") == "all"
    heard = [everyone or i in e.senders or any(e.mixing[i, j] > 0 for j in e.senders) for i in range(size(s))]
    return np.repeat(heard, d)


@st.composite
def _constant(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Constant gradients; every client sends, or every client that mixes."""
    sets = "one-set" in setting.takes
    s: Scenario = draw(exchange_scenarios(setting, everyone=sets))
    if not sets and setting.options.get("sampling") != "round":
        s = exchanges(s, lambda e: replace(e, senders=tuple(range(size(s)))))
    return linear(s)


def _conserves(bench: Bench, s: Scenario) -> None:
    exact, want = lift(s, Fraction), []
    problem = problem_of(exact)
    for e in events_of(Exchange, exact):
        c = votes(exact, e)
        want.append(exact.case.hyper["eta_l"] * sum(c[i] * problem.e[i] for S in e.computing for i in S))
    bench.follows(s, want, "delta")


@st.composite
def _complete(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(exchange_scenarios(setting, clients=(4, 4)))
    s = exchanges(s, complete)
    return s, exchanges(s, lambda e: replace(e, senders=draw_some(draw, 4)))


@st.composite
def _alike(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(exchange_scenarios(setting, clients=(2, 4), everyone=True))

    p = problem_of(s)
    s = posed(s, H=np.repeat(p.H[:1], len(p.H), 0), e=np.repeat(p.e[:1], len(p.e), 0))
    return s, exchanges(s, unmixed)


@st.composite
def _steeper(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(exchange_scenarios(setting))
    return s, with_hyper(louder(s), eta_l=s.case.hyper["eta_l"] / 4)


def _wider(bench: Bench, s: Scenario) -> None:
    h = s.case.hyper
    inside = s.case.options["epsilon"] == "inside"
    wide = posed(s, e=problem_of(s).e * 4, x0={n: a * 4 for n, a in s.case.x0.items()})
    wide = with_hyper(wide, eta=h["eta"] * 4, eps=h["eps"] * (16 if inside else 4))
    related(bench, s, wide, lambda k, x: 4 * x)


LAWS = (
    Law(
        id="gossip-history",
        words="on quadratics the model is the sum of the server's steps, each from one affine map of all clients' "
        "models",
        levels=TRACE,
        source="AFGA, Algs. 1 and 2: X = W (X - eta_l D_S G)",
        cases=exchange_scenarios,
        check=follows(served_models, lifted=False),
        applies=fact(Fact.GOSSIP),
    ),
    Law(
        id="gossip-conserves",
        words="mixing moves no mean: with constant gradients Delta is their sum, whatever W",
        levels=TRACE,
        source="AFGA, eqs. (9)-(11)",
        cases=_constant,
        check=_conserves,
        applies=fact(Fact.GOSSIP),
        shows="delta",
    ),
    Law(
        id="gossip-complete",
        words="where everybody mixes with everybody alike (W = J) it does not matter who sends",
        levels=TRACE,
        source="AFGA, Alg. 1 with W = J",
        cases=_complete,
        check=same,
        applies=fact(Fact.FREE_SETS),
    ),
    Law(
        id="gossip-consensus",
        words="clients with one objective that all compute agree, whatever W",
        levels=TRACE,
        source="W 1 = 1 (AFGA, Assumption 4.5)",
        cases=_alike,
        check=same,
        applies=any_fact(Fact.GOSSIP, Fact.PEERS),
    ),
    Law(
        id="gossip-local-rate",
        words="objectives times 4 and a client rate over 4 change nothing",
        levels=TRACE,
        source="AFGA, Alg. 1, line 10: the gradient enters as eta_l g",
        cases=_steeper,
        check=same,
        applies=both(
            any_fact(Fact.GOSSIP, Fact.PEERS),
            unless(fact(Fact.PEERS, Fact.ADAPTIVE), "its clients divide their gradients by what they were"),
        ),
        needs=("eta_l",),
    ),
    Law(
        id="gossip-stretches",
        words="four times the distances, four times the server's rate, and eps with Delta^2: a path four times as long",
        levels=TRACE,
        source="homogeneity of AFGA, Alg. 1, lines 19-22",
        cases=exchange_scenarios,
        check=_wider,
        applies=fact(Fact.GOSSIP),
        needs=("eta", "eps"),
    ),
)
