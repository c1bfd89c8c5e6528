"""Laws of whole rounds on quadratic clients: closed-form paths and limits, participation, common minima."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Level, Quadratics, Round
from fedspec.params import flatten
from fedspec.problems.quadratic import Quadratics as Problem
from fedspec.problems.quadratic import limit, local_matrix
from fedspec.readings import Solver
from fedspec_suite.judge.bench import Bench
from fedspec_suite.judge.scenario import Scenario, lift
from fedspec_suite.laws.cases import Setting, norm_of, quadratics, round_scenarios, vectors
from fedspec_suite.laws.common import related, same_bits
from fedspec_suite.laws.law import Law

Pair = tuple[Scenario, Scenario]
LINEAR = {"fedavg", "fedprox", "fednova"}


def _linear(setting: Setting) -> str:
    return "" if setting.algorithm.id in LINEAR else "its rounds are not linear in the model"


def _everyone(setting: Setting) -> st.SearchStrategy[Scenario]:
    return round_scenarios(setting, rounds=(1, 4), everyone=True)


def _setting_of(bench: Bench, s: Scenario) -> Setting:
    return Setting(bench.algorithm, "round", s.case.reading, s.case.options, s.case.dtype)


def path(s: Scenario, setting: Setting) -> list[Array]:
    """x_T = x~ + M^T (x_0 - x~) in exact arithmetic: limit and contraction from the closed-form matrices K_i."""
    exact = lift(s, Fraction)
    h, o, problem = exact.case.hyper, s.case.options, exact.case.problem
    assert problem is not None
    event = s.events[0]
    assert isinstance(event, Round)
    solver = Solver(o.get("solver", "proximal" if s.case.algorithm == "fedprox" else "sgd"))
    numbers = {n: h[n] for n in ("eta_l", "mu", "rho", "gamma") if n in h}
    K = np.stack([local_matrix(solver, problem.H[i], tau, **numbers) for i, tau in zip(*_plan(event), strict=True)])
    n = problem.examples if o["weights"] == "examples" else problem.examples * 0 + 1
    p = n / sum(n)
    a = np.array([Fraction(norm_of(setting, h, tau)) for tau in event.steps], dtype=object)
    if s.case.algorithm == "fednova":
        steps = np.array([Fraction(t) for t in event.steps], dtype=object)
        tau_eff = {"weighted-norm": p @ a, "weighted-steps": p @ steps, "fixed": h.get("tau_eff")}[o["tau_eff_choice"]]
        W = tau_eff * (p / a if o["nova_weights"] == "nova" else p / (p @ a))
    else:
        W = p * h["eta"]
    clients = Problem(problem.H, problem.e)
    end = limit(W, K, clients)
    pull = sum(W_i * (K_i @ H_i) for W_i, K_i, H_i in zip(W, K, problem.H, strict=True))
    gap = flatten(exact.case.x0) - end
    out = []
    for _ in s.events:
        gap = gap - pull @ gap
        out.append(end + gap)
    return out


def _plan(event: Round) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return event.participants, event.steps


def _follows_path(bench: Bench, s: Scenario) -> None:
    want = path(s, _setting_of(bench, s))
    scale = bench.expect(s)
    for k, got in enumerate(bench.play(s)):
        bounds = np.array([w.bound for w in scale[k]["x"]])
        bench.compare("x", got["x"], want[k], f"round {k + 1}", bounds)


@st.composite
def _agreeing(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(round_scenarios(setting))
    problem = s.case.problem
    assert problem is not None
    c = draw(vectors((problem.e.shape[1],), setting.dtype))
    e = np.stack([H_i @ c for H_i in problem.H])
    return replace(s, case=replace(s.case, x0={"w": c}, problem=replace(problem, e=e)))


def _stays(bench: Bench, s: Scenario) -> None:
    x = flatten(s.case.x0)
    scale = bench.expect(s)
    for k, got in enumerate(bench.play(s)):
        bounds = np.array([w.bound for w in scale[k]["x"]]) + np.abs(x)
        bench.compare("x", got["x"], x, f"round {k + 1}", bounds)


@st.composite
def _reordered(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(round_scenarios(setting, clients=(2, 4)))
    events = []
    for e in s.events:
        assert isinstance(e, Round)
        order = draw(st.permutations(range(len(e.participants))))
        events.append(Round(tuple(e.participants[i] for i in order), tuple(e.steps[i] for i in order)))
    return s, replace(s, events=tuple(events))


def _same(bench: Bench, pair: Pair) -> None:
    related(bench, *pair, lambda k, x: x)


@st.composite
def _with_bystander(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(round_scenarios(setting, clients=(1, 3)))
    problem = s.case.problem
    assert problem is not None
    d = problem.e.shape[1]
    extra: Quadratics = draw(quadratics(1, d, setting.dtype))
    more = Quadratics(
        np.concatenate([problem.H, extra.H]),
        np.concatenate([problem.e, extra.e]),
        np.concatenate([problem.examples, extra.examples]),
    )
    return s, replace(s, case=replace(s.case, problem=more))


def _bystands(bench: Bench, pair: Pair) -> None:
    s, more = pair
    same_bits(bench, s, bench.play(s), bench.play(more), "a client that never takes part changes the result")


@st.composite
def _moved(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario, Array]:
    s: Scenario = draw(round_scenarios(setting))
    problem = s.case.problem
    assert problem is not None
    shift = draw(vectors((problem.e.shape[1],), setting.dtype, denominator=4, largest=8))
    e = problem.e + np.stack([H_i @ shift for H_i in problem.H])
    case = replace(s.case, x0={"w": s.case.x0["w"] + shift}, problem=replace(problem, e=e))
    return s, replace(s, case=case), shift


def _translates(bench: Bench, drawn: tuple[Scenario, Scenario, Array]) -> None:
    s, there, shift = drawn
    related(bench, s, there, lambda k, x: x + shift)


@st.composite
def _clones(draw: st.DrawFn, setting: Setting) -> Pair:
    one: Scenario = draw(round_scenarios(setting, clients=(1, 1)))
    problem = one.case.problem
    assert problem is not None
    n = draw(st.integers(2, 4))
    many = Quadratics(
        np.repeat(problem.H, n, axis=0),
        np.repeat(problem.e, n, axis=0),
        np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), dtype=float),
    )
    events: list[Any] = []
    for e in one.events:
        assert isinstance(e, Round)
        events.append(Round(tuple(range(n)), e.steps * n))
    return one, Scenario(replace(one.case, problem=many), tuple(events))


ROUND: tuple[Level, ...] = ("round",)
LAWS = (
    Law(
        "path",
        "on quadratics the model follows x~ + M^T (x_0 - x~) exactly, x~ the closed-form limit",
        ROUND,
        "FedNova, eqs. (17)-(28)",
        _everyone,
        _follows_path,
        _linear,
    ),
    Law(
        "common-minimum",
        "a minimum that all clients share is not left",
        ROUND,
        "FedNova, eq. (28) where all minimisers agree",
        _agreeing,
        _stays,
    ),
    Law(
        "participants-order",
        "the order of the participants does not matter",
        ROUND,
        "FedNova, eq. (4): a sum over clients",
        _reordered,
        _same,
    ),
    Law("bystander", "who does not take part does not matter", ROUND, "FedNova, Alg. 1", _with_bystander, _bystands),
    Law(
        "problem-translates",
        "moving problem and start moves the path",
        ROUND,
        "equivariance of gradient steps",
        _moved,
        _translates,
    ),
    Law(
        "clones",
        "clients with one objective and equal steps are as good as one",
        ROUND,
        "FedNova, eqs. (5)-(6) with equal ||a_i||_1",
        _clones,
        _same,
    ),
)
