"""On linear objectives a round moves by the clients' own rates times their gradients, summed."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from fedspec.params import flatten
from fedspec_properties.closed_forms.rates import MOVES
from fedspec_suite.laws.asked import both, entry, sets_rates, where
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.scenario import Scenario, lift, posed, problem_of
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.varied import varied_scenarios


def _linear(setting: Setting) -> st.SearchStrategy[Scenario]:
    def flat(s: Scenario) -> Scenario:
        return posed(s, H=problem_of(s).H * 0)

    return varied_scenarios(setting).map(flat)


def _moves(bench: Bench, s: Scenario) -> None:
    exact = lift(s, Fraction)
    problem, x = problem_of(exact), flatten(exact.case.x0)
    moves = MOVES[s.case.algorithm][0](exact.case, exact.events, -problem.e)
    bench.follows(s, [x + sum(moves[1 : k + 1], start=moves[0]) for k in range(len(s.events))])


def _moves_known(setting: Setting) -> bool:
    _, options = MOVES[setting.algorithm.id]
    return all(setting.options.get(n, v[0]) in v for n, v in options.items())


UNDER = where(_moves_known, "", "the sum of its moves is of other options (closed_forms/rates.py)")
LAWS = (
    Law(
        id="rates-linear",
        words="on linear objectives a round moves by the sum of the clients' own rates times their gradients",
        levels=("round", "trace"),
        source="a client's steps along a constant gradient, summed",
        cases=_linear,
        check=_moves,
        applies=both(sets_rates, entry(MOVES, "sum of its moves (closed_forms/rates.py)"), UNDER),
    ),
)
