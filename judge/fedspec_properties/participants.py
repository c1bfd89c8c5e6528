"""Laws of who takes part in a round: the order and the names of clients, strangers and clones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Arrival, Event, Exchange, Level, Quadratics, Round
from fedspec.facts import Fact
from fedspec_suite.laws.asked import both, fact, option, takes, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related, same, same_bits
from fedspec_suite.measure.bench import WORDS, Bench
from fedspec_suite.measure.cases import few, round_scenarios, scenarios
from fedspec_suite.measure.parts import quadratics, with_constants
from fedspec_suite.measure.scenario import COLUMNS, Scenario, beside, describe, picked, problem_of
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation

Pair = tuple[Scenario, Scenario]


def _reorder(draw: st.DrawFn, e: Event, takes: Sequence[str]) -> Event:
    match e:
        case Round(participants=who):
            order = draw(st.permutations(range(len(who))))
            columns = {n: getattr(e, n) for n in COLUMNS}
            return replace(e, **{n: tuple(column[i] for i in order) for n, column in columns.items() if column})  # type: ignore[arg-type]
        case Exchange(senders=senders, computing=computing) if "senders" in takes:
            # Row k of W is the k-th client.
            order = draw(st.permutations(range(len(senders))))
            sets = tuple(tuple(S[k] for k in order) for S in computing)
            return replace(
                e, senders=tuple(senders[k] for k in order), computing=sets, mixing=e.mixing[np.ix_(order, order)]
            )
        case Exchange(senders=senders, computing=computing):
            return replace(
                e,
                senders=tuple(draw(st.permutations(senders))),
                computing=tuple(tuple(draw(st.permutations(S))) for S in computing),
            )
    return e


@st.composite
def _reordered(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(scenarios(setting, clients=few(setting, 2)))
    events = [_reorder(draw, e, setting.takes) for e in s.events]
    if isinstance(s.events[0], Arrival):
        size = int(s.case.hyper.get("buffer", 1))
        groups = [events[k : k + size] for k in range(0, len(events), size)]
        events = [e for group in groups for e in draw(st.permutations(group))]
    return s, replace(s, events=tuple(events))


@st.composite
def _with_bystander(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(scenarios(setting, clients=(setting.crowd, setting.crowd + 2)))
    problem = problem_of(s)
    d = problem.e.shape[1]
    extra: Quadratics = draw(quadratics(1, d, setting.dtype))
    more = beside(problem, with_constants(extra, [8]) if setting.losses else extra)
    events = tuple(
        replace(e, mixing=_beside(e.mixing)) if isinstance(e, Exchange) and "senders" not in setting.takes else e
        for e in s.events
    )
    return s, Scenario(replace(s.case, problem=more), events)


def _beside(W: Array) -> Array:
    """The matrix with one more client, who talks to nobody."""
    n = len(W)
    return np.block([[W, np.zeros((n, 1), W.dtype)], [np.zeros((1, n), W.dtype), np.eye(1, dtype=W.dtype)]])


def _bystands(bench: Bench, pair: Pair) -> None:
    s, more = pair
    if s.case.level == "trace":
        # A product with a larger matrix may be summed in another order.
        related(bench, *pair, lambda k, x: x)
        return
    what = "a client that never takes part changes the result"
    alone, beside = bench.play(s), bench.play(more)
    for k, (one, two) in enumerate(zip(alone, beside, strict=True)):
        for name in one.keys() & two.keys() - WORDS:
            if one[name].shape != two[name].shape:
                sizes = f"{name} is {two[name].size} numbers, not {one[name].size}"
                said, place = f"{what}: {sizes}; show a row for each participant", f"{describe(s.events[k])} {k + 1}"
                raise Deviates(Deviation(bench.equation_of(name), place, note=said, shown=name))
    same_bits(bench, s, alone, beside, what)


@st.composite
def _clones(draw: st.DrawFn, setting: Setting) -> Pair:
    one: Scenario = draw(round_scenarios(setting, clients=(1, 1), everyone=True))
    problem = problem_of(one)
    n = draw(st.integers(2, 4))
    examples = np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), dtype=float)
    many = replace(picked(problem, [0] * n), examples=examples)
    events: list[Any] = []
    for e in one.events:
        assert isinstance(e, Round)
        more = {name: getattr(e, name) * n for name in COLUMNS[2:]}
        events.append(Round(tuple(range(n)), e.steps * n, noise=e.noise, **more))
    return one, Scenario(replace(one.case, problem=many), tuple(events))


ROUND: tuple[Level, ...] = ("round",)
BOTH: tuple[Level, ...] = ("round", "trace")
LAWS = (
    Law(
        id="participants-order",
        words="the order of the participants does not matter",
        levels=BOTH,
        source="FedNova, eq. (4): a sum over clients",
        cases=_reordered,
        check=same,
    ),
    Law(
        id="bystander",
        words="who does not take part does not matter",
        levels=BOTH,
        source="FedNova, Alg. 1",
        cases=_with_bystander,
        check=_bystands,
        applies=both(
            unless(takes("peers", "everyone", "clusters"), "everybody takes part"),
            unless(option("averaged", "all", "last-sent"), "it divides by the number of all clients"),
            unless(fact(Fact.COUNTS_ALL), "it has a mean or shares over all clients"),
        ),
    ),
    Law(
        id="clones",
        words="clients with one objective and equal steps are as good as one",
        levels=ROUND,
        source="FedNova, eqs. (5)-(6) with equal ||a_i||_1",
        cases=_clones,
        check=same,
        applies=unless(fact(Fact.PRIVATE), "its noise is divided by the number of clients"),
    ),
)
