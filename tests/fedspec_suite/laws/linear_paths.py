"""Laws of control variates on linear objectives: every gradient is known, so that a path is a sum over the history."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec.params import flatten
from fedspec_suite.laws.controls import ROUND, about, shares
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario, lift
from fedspec_suite.measure.setting import Setting


def _linear(setting: Setting) -> st.SearchStrategy[Scenario]:
    def flat(s: Scenario) -> Scenario:
        problem = s.case.problem
        assert problem is not None
        return replace(s, case=replace(s.case, problem=replace(problem, H=problem.H * 0)))

    return round_scenarios(setting, rounds=(2, 4), clients=(2, 4)).map(flat)


def _scaffold_moves(s: Scenario, h: Any, g: Array, p: list[Fraction]) -> list[Array]:
    """Once a client has taken part its control variate is its gradient; before it is zero."""
    seen: set[int] = set()
    moves = []
    for e in s.events:
        assert isinstance(e, Round)
        mean = sum((p[i] * g[i] for i in seen), start=0 * g[0])
        total = sum(p[i] for i in e.participants)
        took_part = zip(e.participants, e.steps, strict=True)
        parts = (p[i] / total * tau * (mean + (i not in seen) * g[i]) for i, tau in took_part)
        moves.append(-h["eta"] * h["eta_l"] * sum(parts, start=0 * g[0]))
        seen |= set(e.participants)
    return moves


def _feddyn_moves(s: Scenario, h: Any, g: Array, p: list[Fraction]) -> list[Array]:
    """After T_i steps in all, a client's dual variable is its gradient but for the factor (1 - eta_l mu)^T_i."""
    b, taken = 1 - h["eta_l"] * h["mu"], dict.fromkeys(range(len(g)), 0)
    moves = []
    for e in s.events:
        assert isinstance(e, Round)
        before = dict(taken)
        taken |= {i: taken[i] + tau for i, tau in zip(e.participants, e.steps, strict=True)}
        apart = sum(((b ** taken[i] - b ** before[i]) * g[i] for i in e.participants), start=0 * g[0])
        mean = sum(((b ** taken[i] - 1) * g[i] for i in taken), start=0 * g[0])
        moves.append((apart / len(e.participants) + mean / len(g)) / h["mu"])
    return moves


def _vrl_moves(s: Scenario, h: Any, g: Array, p: list[Fraction]) -> list[Array]:
    """sum_i p_i tau_i v_i = 0, so that every round moves along sum_i p_i tau_i g_i: the bias of FedAvg, for good."""
    e = s.events[0]
    assert isinstance(e, Round)
    steps = dict(zip(e.participants, e.steps, strict=True))
    return [-h["eta_l"] * sum((p[i] * steps[i] * g[i] for i in steps), start=0 * g[0])] * len(s.events)


MOVES = {"scaffold": _scaffold_moves, "feddyn": _feddyn_moves, "vrl-sgd": _vrl_moves}


def _follows_sum(bench: Bench, s: Scenario) -> None:
    exact = lift(s, Fraction)
    problem, x = exact.case.problem, flatten(exact.case.x0)
    assert problem is not None
    moves = MOVES[s.case.algorithm](s, exact.case.hyper, -problem.e, shares(s))
    scale = bench.expect(s)
    for k, got in enumerate(bench.play(s)):
        want = x + sum(moves[1 : k + 1], start=moves[0])
        bench.compare("x", got["x"], want, f"round {k + 1}", np.array([w.bound for w in scale[k]["x"]]))


def _has_sum(setting: Setting) -> str:
    if setting.options.get("divisor") == "mean-steps":
        return "with one divisor for all there is no such sum"
    return about(*MOVES)(setting)


def _swings(bench: Bench, s: Scenario) -> None:
    """c_i is 0 and sum_j p_j g_j - g_i in turn."""
    assert s.case.problem is not None
    p, g = shares(s), lift(s, Fraction).case.problem.e * -1  # type: ignore[union-attr]
    apart = (sum(p_i * g_i for p_i, g_i in zip(p, g, strict=True)) - g).reshape(-1)
    got = np.concatenate([shown["c_i"] for shown in bench.play(s)])
    want = np.concatenate([apart * (k % 2) for k in range(len(s.events))])
    bounds = np.concatenate([[w.bound for w in shown["c_i"]] for shown in bench.expect(s)])
    bench.compare("c_i", got, want, "all rounds", bounds)


def _swinging(setting: Setting) -> str:
    if setting.options.get("stored") != "corrected" or setting.options.get("loop") != "shifted":
        return "it is about stored = corrected with the loop of eqs. (35)-(36)"
    return about("fednova-alg2")(setting)


LAWS = (
    Law(
        id="linear-history",
        words="on linear objectives the model is a sum over who has taken part, and how often",
        levels=ROUND,
        source="the recursions of SCAFFOLD, FedDyn and VRL-SGD, solved for constant gradients",
        cases=_linear,
        check=_follows_sum,
        applies=_has_sum,
    ),
    Law(
        id="correction-swings",
        words="on linear objectives the printed correction is 0 in one round and sum_j p_j g_j - g_i in the next",
        levels=ROUND,
        source="FedNova, Alg. 2, line 13 (L985): c^(t+1) + c^(t) = sum_j p_j h_j - h_i",
        cases=_linear,
        check=_swings,
        applies=_swinging,
        shows="c_i",
    ),
)
