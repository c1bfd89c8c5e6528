"""Laws of control variates on linear objectives: every gradient is known, so that a path is a sum over the history."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from fedspec.params import flatten
from fedspec_properties.closed_forms.linear_rounds import MOVES
from fedspec_properties.controls import ROUND, shares
from fedspec_suite.laws.asked import both, entry, option, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario, lift, linear
from fedspec_suite.measure.setting import Setting


def _linear(setting: Setting) -> st.SearchStrategy[Scenario]:
    return round_scenarios(setting, rounds=(2, 4), clients=(2, 4)).map(linear)


def _follows_sum(bench: Bench, s: Scenario) -> None:
    exact = lift(s, Fraction)
    problem, x = exact.case.problem, flatten(exact.case.x0)
    assert problem is not None
    moves = MOVES[s.case.algorithm](s, exact.case.hyper, -problem.e, shares(s))
    bench.follows(s, [x + sum(moves[1 : k + 1], start=moves[0]) for k in range(len(s.events))])


def _swings(bench: Bench, s: Scenario) -> None:
    """c_i is 0 and sum_j p_j g_j - g_i in turn."""
    assert s.case.problem is not None
    p, g = shares(s), lift(s, Fraction).case.problem.e * -1  # type: ignore[union-attr]
    apart = (sum(p_i * g_i for p_i, g_i in zip(p, g, strict=True)) - g).reshape(-1)
    got = np.concatenate([shown["c_i"] for shown in bench.play(s)])
    want = np.concatenate([apart * (k % 2) for k in range(len(s.events))])
    bounds = np.concatenate([[w.bound for w in shown["c_i"]] for shown in bench.expect(s)])
    bench.compare("c_i", got, want, "all rounds", bounds)


LAWS = (
    Law(
        id="linear-history",
        words="on linear objectives the model is a sum over who has taken part, and how often",
        levels=ROUND,
        source="the recursions of SCAFFOLD, FedDyn and VRL-SGD, solved for constant gradients",
        cases=_linear,
        check=_follows_sum,
        applies=both(
            unless(option("divisor", "mean-steps"), "with one divisor for all there is no such sum"),
            entry(MOVES, "sum over its history (closed_forms/linear_rounds.py)"),
        ),
    ),
    Law(
        id="correction-swings",
        words="on linear objectives the printed correction is 0 in one round and sum_j p_j g_j - g_i in the next",
        levels=ROUND,
        source="FedNova, Alg. 2, line 13 (L985): c^(t+1) + c^(t) = sum_j p_j h_j - h_i",
        cases=_linear,
        check=_swings,
        applies=both(option("stored", "corrected"), option("loop", "shifted")),
        shows="c_i",
    ),
)
