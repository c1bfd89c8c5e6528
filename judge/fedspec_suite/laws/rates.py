"""Laws of rounds whose rates, pulls or momentum are others, for all who take part or for each of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.contract import Event, Level, Round
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec_suite.laws.asked import both, entry, fact, option, sets_client_rates, sets_rates, takes, unless, where
from fedspec_suite.laws.closed_forms.rates import MOVES
from fedspec_suite.laws.far import everything
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import same
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios, scenarios
from fedspec_suite.measure.scenario import Scenario, arranged, lift, posed, problem_of, saying, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.varied import FACTORS, of_clients, of_rounds, varied_scenarios

LEVELS: tuple[Level, ...] = ("server", "round", "trace")

Pair = tuple[Scenario, Scenario]


@st.composite
def _other_from_the_first(draw: st.DrawFn, setting: Setting) -> Pair:
    """The case with other numbers, and the case in which every event says these, some of them of each client."""
    s: Scenario = draw(scenarios(setting))
    other = {n: (s.case.hyper[n] or 0.5) * draw(st.sampled_from(FACTORS[:-1])) for n in of_rounds(setting)}

    def told(e: Event) -> Event:
        several = isinstance(e, Round) and draw(st.booleans())
        each = of_clients(setting) if several else ()
        hyper = {n: (v,) * len(e.participants) if isinstance(e, Round) and n in each else v for n, v in other.items()}
        return saying(e, hyper)

    return with_hyper(s, **other), replace(s, events=tuple(map(told, s.events)))


def _linear(setting: Setting) -> st.SearchStrategy[Scenario]:
    def flat(s: Scenario) -> Scenario:
        return posed(s, H=problem_of(s).H * 0)

    return varied_scenarios(setting).map(flat)


def _moves(bench: Bench, s: Scenario) -> None:
    exact = lift(s, Fraction)
    problem, x = problem_of(exact), flatten(exact.case.x0)
    moves = MOVES[s.case.algorithm][0](exact.case, exact.events, -problem.e)
    bench.follows(s, [x + sum(moves[1 : k + 1], start=moves[0]) for k in range(len(s.events))])


@st.composite
def _reordered(draw: st.DrawFn, setting: Setting) -> Pair:
    """The case, and the same with those who take part in another order, each with its own numbers."""
    s: Scenario = draw(varied_scenarios(setting))

    def event(e: Event) -> Event:
        assert isinstance(e, Round)
        return arranged(e, range(len(e.steps))[::-1])

    return s, replace(s, events=tuple(map(event, s.events)))


@st.composite
def _weightless(draw: st.DrawFn, setting: Setting) -> Pair:
    """The case with a client that has no examples, and the same with other numbers of that client."""
    s: Scenario = draw(round_scenarios(setting, clients=(2, 4), everyone=True))
    n = len(problem_of(s).examples)
    idle = draw(st.integers(0, n - 1))
    s = posed(s, examples=np.where(np.arange(n) == idle, 0.0, problem_of(s).examples))

    def told(e: Event, factor: float) -> Any:
        assert isinstance(e, Round)
        base = {name: s.case.hyper[name] or 0.5 for name in of_clients(setting)}
        own = [factor if i == idle else 1.0 for i in e.participants]
        return replace(e, hyper={name: tuple(v * f for f in own) for name, v in base.items()})

    one, other = ([told(e, factor) for e in s.events] for factor in (1.0, 0.25))
    return replace(s, events=tuple(one)), replace(s, events=tuple(other))


def _moves_known(setting: Setting) -> bool:
    _, options = MOVES[setting.algorithm.id]
    return all(setting.options.get(n, v[0]) in v for n, v in options.items())


UNDER = where(_moves_known, "", "the sum of its moves is of other options (closed_forms/rates.py)")
LAWS = (
    Law(
        id="rates-follow",
        words="where events say rates anew, what it shows is what the rule gives with them",
        levels=LEVELS,
        source="the rule itself",
        cases=varied_scenarios,
        check=everything,
        applies=sets_rates,
        reads_rule=True,
    ),
    Law(
        id="rates-constant",
        words="rates that every event says, the same for all, are those of a case that says them once",
        levels=LEVELS,
        source="a round has one rate",
        cases=_other_from_the_first,
        check=same,
        applies=sets_rates,
    ),
    Law(
        id="rates-linear",
        words="on linear objectives a round moves by the sum of the clients' own rates times their gradients",
        levels=("round", "trace"),
        source="a client's steps along a constant gradient, summed",
        cases=_linear,
        check=_moves,
        applies=both(sets_rates, entry(MOVES, "sum of its moves (closed_forms/rates.py)"), UNDER),
    ),
    Law(
        id="rates-reordered",
        words="the order in which clients and their rates are named does not matter",
        levels=("round",),
        source="a sum over those who take part",
        cases=_reordered,
        check=same,
        applies=sets_client_rates,
    ),
    Law(
        id="rates-weightless",
        words="the rate of a client without examples does not matter",
        levels=("round",),
        source="p_i = n_i / n",
        cases=_weightless,
        check=same,
        applies=both(
            sets_client_rates,
            option("weights", "examples"),
            unless(fact(Fact.COUNTS_ALL), "a client without examples counts too"),
            unless(takes("repeats"), "a client that is drawn weighs as much as another"),
        ),
        zeroes=("weight",),
    ),
)
