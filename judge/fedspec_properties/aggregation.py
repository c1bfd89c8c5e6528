"""Laws of the server's mean: who is counted, and how much."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from fedspec.contract import ClientMessage, Messages
from fedspec_suite.laws.asked import option
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
)
