"""Edge features of cases: rare in usual cases, and often a special branch in code.

For example, a round with a single participant, a block that is a single number, a client without examples. ``EDGES``
names each edge and tells whether a case has it. ``measure.edge_cases`` makes the few cases that have all edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Arrival, Begin, Event, Exchange, Gradient, Messages, Round, Session
from fedspec.params import flatten
from fedspec_suite.measure.bench import specified
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting


def participants(e: Event) -> tuple[int, ...]:
    """Return the numbers of the clients that take part in a round; empty for other events."""
    match e:
        case Messages(messages=sent):
            return tuple(m.client for m in sent)
        case Round(participants=who):
            return who
    return ()


def _steps(e: Event) -> tuple[int, ...]:
    match e:
        case Messages(messages=sent):
            return tuple(m.steps for m in sent)
        case Round(steps=steps):
            return steps
        case Arrival(steps=k):
            return (k,)
        case Exchange(computing=computing):
            return (len(computing),)
    return ()


def _weights(s: Scenario, e: Event) -> list[float]:
    if isinstance(e, Messages):
        return [float(m.weight) for m in e.messages]
    examples = None if s.case.problem is None else s.case.problem.examples
    return [] if examples is None else [float(examples[i]) for i in participants(e)]


def _clients(s: Scenario) -> int:
    """Number of clients in the whole case; 0 at level client."""
    if s.case.problem is not None:
        return len(s.case.problem.e)
    return len({i for e in s.events for i in participants(e)})


def _one_step(s: Scenario) -> bool:
    if s.case.level == "client":
        kinds = [type(e) for e in s.events]
        return any(a is Gradient and b is not Gradient for a, b in zip(kinds, [Begin, *kinds[2:], Begin], strict=False))
    return any(set(_steps(e)) == {1} for e in s.events)


def _same_model(s: Scenario) -> bool:
    """True if a round begins at the very model where the round before ended, by the rule in floating point."""
    session: Session = specified(s)
    x = flatten(s.case.x0)
    for e in s.events:
        if isinstance(e, Begin) and np.array_equal(flatten(e.x), x):
            return True
        x = np.asarray(session.step(e)["x"])
    return False


def _changes(e: Event) -> Sequence[Mapping[str, Array]]:
    match e:
        case Gradient(g=g):
            return [g]
        case Messages(messages=sent):
            return [m.delta for m in sent]
    return []


def _nothing(blocks: Mapping[str, Array]) -> bool:
    return not any(a.any() for a in blocks.values())


def _zeros(s: Scenario) -> bool:
    p = s.case.problem
    if p is not None:
        return not p.e.any() and _nothing(s.case.x0)
    return any(all(map(_nothing, _changes(e))) for e in s.events if _changes(e))


def _equal(s: Scenario) -> bool:
    """True if two participants of an event send the same."""
    p = s.case.problem
    for e in s.events:
        if isinstance(e, Messages):
            sent = [b"".join(np.asarray(a).tobytes() for a in m.delta.values()) for m in e.messages]
        elif p is not None:
            sent = [p.H[i].tobytes() + p.e[i].tobytes() for i in dict.fromkeys(participants(e))]
        else:
            sent = []
        if len(set(sent)) < len(sent):
            return True
    return p is not None and s.case.level == "trace" and len({row.tobytes() for row in p.e}) < len(p.e)


@dataclass(frozen=True)
class Edge:
    """Rare feature that a case may have, such as a round with a single participant.

    Attributes:
        name: a slug.
        words: the feature, in words.
        levels: at which levels a case can have it.
        shows: True if a case has it.
        possible: True if some case of a setting can have it.
    """

    name: str
    words: str
    levels: tuple[str, ...]
    shows: Callable[[Scenario], bool]
    possible: Callable[[Setting], bool] = lambda setting: True


_ROUNDS, _ALL = ("server", "round"), ("client", "server", "round", "trace")


def everyone(setting: Setting) -> bool:
    """True if all clients take part in every round."""
    return "everyone" in setting.takes or setting.everyone


def alone(setting: Setting) -> bool:
    """True if a case of the setting may have a single client."""
    return setting.crowd == 1


def _any_blocks(setting: Setting) -> bool:
    return not (setting.one_block or setting.matrices or "peers" in setting.takes)


def _any_steps(setting: Setting) -> bool:
    return not {"one-length", "one-step"} & {*setting.takes}


def weighted(setting: Setting) -> bool:
    """True if a client of the setting may have no examples."""
    return "weight" not in setting.nonzero


EDGES: tuple[Edge, ...] = (
    Edge(
        "one-participant",
        "a single client takes part in a round, others in other rounds",
        _ROUNDS,
        lambda s: _clients(s) > 1 and any(len(participants(e)) == 1 for e in s.events),
        lambda setting: setting.crowd == 1 and not everyone(setting),
    ),
    Edge("one-client", "there is a single client", (*_ROUNDS, "trace"), lambda s: _clients(s) == 1, alone),
    Edge("one-step", "everybody takes a single local step", _ALL, _one_step),
    Edge(
        "no-steps",
        "a round has no local steps",
        ("trace",),
        lambda s: any(isinstance(e, Exchange) and not e.computing for e in s.events),
        lambda setting: setting.algorithm.event == "exchange" and "peers" not in setting.takes,
    ),
    Edge(
        "unequal-steps",
        "two participants take unequal numbers of local steps",
        _ROUNDS,
        lambda s: any(len(set(_steps(e))) > 1 for e in s.events),
        _any_steps,
    ),
    Edge(
        "no-examples",
        "a participant has no examples, others have some",
        _ROUNDS,
        lambda s: any(0 in _weights(s, e) and any(_weights(s, e)) for e in s.events),
        weighted,
    ),
    Edge("one-block", "the model is a single block", _ALL, lambda s: len(s.case.x0) == 1),
    Edge(
        "blocks",
        "blocks of unlike sizes and scales",
        _ALL,
        lambda s: len({a.size for a in s.case.x0.values()}) > 1,
        lambda setting: not setting.one_block and "peers" not in setting.takes,
    ),
    Edge(
        "scalar",
        "a block is a single number, without an axis",
        _ALL,
        lambda s: any(a.shape == () for a in s.case.x0.values()),
        _any_blocks,
    ),
    Edge(
        "four-axes",
        "a block has four axes",
        _ALL,
        lambda s: any(a.ndim == 4 for a in s.case.x0.values()),
        _any_blocks,
    ),
    Edge(
        "dotted-names",
        "names of blocks have dots",
        _ALL,
        lambda s: any("." in name for name in s.case.x0),
        lambda setting: not setting.one_block and "peers" not in setting.takes,
    ),
    Edge(
        "labels",
        "numbers of clients are large and not consecutive",
        ("server",),
        lambda s: any(i >= 2**31 for e in s.events for i in participants(e)),
    ),
    Edge(
        "order",
        "participants do not come in the order of their numbers",
        _ROUNDS,
        lambda s: any([*participants(e)] != sorted(participants(e)) for e in s.events),
    ),
    Edge(
        "repeats",
        "a client is drawn twice in a round",
        ("round",),
        lambda s: any(len(set(participants(e))) < len(participants(e)) for e in s.events),
        lambda setting: "repeats" in setting.takes,
    ),
    Edge(
        "same-model",
        "a round begins at the model where the round before ended",
        ("client",),
        _same_model,
        lambda setting: not setting.matrices,
    ),
    Edge("zeros", "all changes or gradients are zero", _ALL, _zeros),
    Edge("equal", "two clients are equal", (*_ROUNDS, "trace"), _equal),
)
"""All edge features. Checks, diagnoses and vectors use a case of each, so none misses a fault that only one shows."""


def edges_of(s: Scenario) -> Iterator[Edge]:
    """Yield the edge features that a case has."""
    return (edge for edge in EDGES if s.case.level in edge.levels and edge.shows(s))
