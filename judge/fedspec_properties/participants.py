"""Laws of participation: which clients take part in a round, and their weights in its mean."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Arrival, ClientMessage, Event, Exchange, Level, Messages, Quadratics, Round
from fedspec.facts import Fact
from fedspec_properties.closed_forms.sums import counts, events_of, exactly
from fedspec_suite.laws.applicability import both, fact, option, takes, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related, same, same_bits
from fedspec_suite.measure.bench import WORDS, Bench
from fedspec_suite.measure.case_parts import quadratics, with_constants
from fedspec_suite.measure.cases import few, message_lists, round_scenarios, scenarios, server_scenarios
from fedspec_suite.measure.scenario import COLUMNS, Scenario, beside, describe, each_round, picked, problem_of
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation

Pair = tuple[Scenario, Scenario]


def _reorder(draw: st.DrawFn, e: Event, takes: Sequence[str]) -> Event:
    match e:
        case Messages(messages=sent):
            return Messages(tuple(draw(st.permutations(sent))))
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
    for e in events_of(Round, one):
        more = {name: getattr(e, name) * n for name in COLUMNS[2:]}
        events.append(Round(tuple(range(n)), e.steps * n, noise=e.noise, **more))
    return one, Scenario(replace(one.case, problem=many), tuple(events))


ROUND: tuple[Level, ...] = ("round",)
BOTH: tuple[Level, ...] = ("round", "trace")


@st.composite
def _split(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(server_scenarios(setting))

    def halve(ms: Sequence[ClientMessage]) -> list[ClientMessage]:
        ms = tuple(replace(m, weight=2 * m.weight) for m in ms)
        first = replace(ms[0], weight=ms[0].weight / 2)
        return [replace(first, weight=int(first.weight)), replace(first, weight=int(first.weight), client=99), *ms[1:]]

    return s, each_round(s, halve)


@st.composite
def _weightless(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(server_scenarios(setting, clients=(1, 3)))
    shape = {n: a.shape for n, a in s.case.x0.items()}

    def add(ms: Sequence[ClientMessage]) -> list[ClientMessage]:
        extra = draw(message_lists(setting, shape, (1, 1))).messages[0]
        return [*ms, replace(extra, weight=0, client=99)]

    return s, each_round(s, add)


@st.composite
def _condensed(draw: st.DrawFn, setting: Setting) -> Pair:
    """Weights whose sum is a power of two, so that the mean of the changes is a dyadic rational too."""
    s: Scenario = draw(server_scenarios(setting, clients=few(setting, 2)))
    by = setting.options.get("weights")

    def weigh(ms: Sequence[ClientMessage]) -> list[ClientMessage]:
        if by == "uniform":
            ms = ms[: 2 if len(ms) < 4 else 4]
            return list(ms)
        total = 16
        cuts = sorted(
            draw(st.lists(st.integers(1, total - 1), min_size=len(ms) - 1, max_size=len(ms) - 1, unique=True))
        )
        ends = [0, *cuts, total]
        ns = [b - a for a, b in itertools.pairwise(ends)]
        if by == "steps":
            return [replace(m, steps=n, a_norm=n) for m, n in zip(ms, ns, strict=True)]
        return [replace(m, weight=n) for m, n in zip(ms, ns, strict=True)]

    many = each_round(s, weigh)

    def condense(ms: Sequence[ClientMessage]) -> list[ClientMessage]:
        weights = counts(setting.options, [Fraction(m.weight) for m in ms], [m.steps for m in ms])
        p = [w / sum(weights) for w in weights]

        def mean(name: str) -> Array:
            parts = [exactly(m.delta[name]) for m in ms]
            total = sum((p_i * part for p_i, part in zip(p, parts, strict=True)), start=Fraction(0))
            return np.asarray(total, dtype=float).astype(setting.dtype)

        return [replace(ms[0], delta={n: mean(n) for n in ms[0].delta}, weight=1)]

    return many, each_round(many, condense)


BY_EXAMPLES = option("weights", "examples")

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
    Law(
        id="client-order",
        words="the order of the messages does not matter",
        levels=("server",),
        source="FedNova, eq. (4): a sum over clients",
        cases=_reordered,
        check=same,
    ),
    Law(
        id="client-split",
        words="a client is the same as two halves of it",
        levels=("server",),
        source="FedNova, eq. (4): a sum over clients",
        cases=_split,
        check=same,
        applies=BY_EXAMPLES,
    ),
    Law(
        id="zero-weight",
        words="a client without examples has no say",
        levels=("server",),
        source="p_i = 0",
        cases=_weightless,
        check=same,
        applies=BY_EXAMPLES,
        zeroes=("weight",),
    ),
    Law(
        id="mean",
        words="many clients are as good as one that sends their exact mean",
        levels=("server",),
        source="FedNova eq. (2)",
        cases=_condensed,
        check=same,
        applies=fact(Fact.PLAIN_MEAN),
    ),
)
