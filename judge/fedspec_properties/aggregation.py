"""Laws of the server's mean: who is counted, and how much."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import ClientMessage, Messages
from fedspec.facts import Fact
from fedspec_properties.closed_forms.sums import counts
from fedspec_suite.laws.asked import fact, option
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import same
from fedspec_suite.measure.cases import few, message_lists, server_scenarios
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

Pair = tuple[Scenario, Scenario]


def _each(s: Scenario, f: object) -> Scenario:
    events = tuple(Messages(tuple(f(e.messages))) if isinstance(e, Messages) else e for e in s.events)  # type: ignore[operator]
    return replace(s, events=events)


@st.composite
def _shuffled(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(server_scenarios(setting, clients=few(setting, 2)))
    return s, _each(s, lambda ms: draw(st.permutations(list(ms))))


@st.composite
def _split(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(server_scenarios(setting))

    def halve(ms: tuple[ClientMessage, ...]) -> list[ClientMessage]:
        ms = tuple(replace(m, weight=2 * m.weight) for m in ms)
        first = replace(ms[0], weight=ms[0].weight / 2)
        return [replace(first, weight=int(first.weight)), replace(first, weight=int(first.weight), client=99), *ms[1:]]

    return s, _each(s, halve)


@st.composite
def _weightless(draw: st.DrawFn, setting: Setting) -> Pair:
    s: Scenario = draw(server_scenarios(setting, clients=(1, 3)))
    shape = {n: a.shape for n, a in s.case.x0.items()}

    def add(ms: tuple[ClientMessage, ...]) -> list[ClientMessage]:
        extra = draw(message_lists(setting, shape, (1, 1))).messages[0]
        return [*ms, replace(extra, weight=0, client=99)]

    return s, _each(s, add)


def _fractions(a: Array) -> Array:
    exact: Array = np.vectorize(lambda v: Fraction(float(v)), otypes=[object])(a)
    return exact


@st.composite
def _condensed(draw: st.DrawFn, setting: Setting) -> Pair:
    """Weights whose sum is a power of two, so that the mean of the changes is a dyadic rational too."""
    s: Scenario = draw(server_scenarios(setting, clients=few(setting, 2)))
    by = setting.options.get("weights")

    def weigh(ms: tuple[ClientMessage, ...]) -> list[ClientMessage]:
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

    many = _each(s, weigh)

    def condense(ms: tuple[ClientMessage, ...]) -> list[ClientMessage]:
        weights = counts(setting.options, [Fraction(m.weight) for m in ms], [m.steps for m in ms])
        p = [w / sum(weights) for w in weights]

        def mean(name: str) -> Array:
            parts = [_fractions(m.delta[name]) for m in ms]
            total = sum((p_i * part for p_i, part in zip(p, parts, strict=True)), start=Fraction(0))
            return np.asarray(total, dtype=float).astype(setting.dtype)

        return [replace(ms[0], delta={n: mean(n) for n in ms[0].delta}, weight=1)]

    return many, _each(many, condense)


BY_EXAMPLES = option("weights", "examples")
LAWS = (
    Law(
        id="client-order",
        words="the order of the messages does not matter",
        levels=("server",),
        source="FedNova, eq. (4): a sum over clients",
        cases=_shuffled,
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
