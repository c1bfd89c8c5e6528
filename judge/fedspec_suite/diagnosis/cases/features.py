"""Amounts of features in a case up to an event; they tell whether a gate covers the case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from fedspec.contract import Arrival, Begin, Event, Exchange, Gradient, Messages, Round
from fedspec_suite.diagnosis.cases.beside_others import taking_part
from fedspec_suite.measure.scenario import Scenario


def amounts(name: str, s: Scenario, last: int) -> tuple[float, ...]:
    """Values of a feature in a case up to an event; empty if they are unknown."""
    x0 = s.case.x0
    whole: Mapping[str, tuple[float, ...]] = {
        "coordinates": (float(sum(a.size for a in x0.values())),),
        "blocks": (float(len(x0)),),
        "axes": tuple(float(a.ndim) for a in x0.values()),
    }
    if name in s.case.hyper:
        return (float(s.case.hyper[name]),)
    if name in whole:
        return whole[name]
    events = s.events[: last + 1]
    if name == "all digits":
        return tuple(float(_long(a)) for a in _arrays(s, events))
    return tuple(v for e in events for v in _of_event(name, e, s))


def _of_event(name: str, e: Event, s: Scenario) -> Iterator[float]:
    there = taking_part(s, e)
    match name, e:
        case "clients", Messages() | Round():
            yield len(there)
        case "examples", _:
            yield from (c.weight for c in there)
        case "steps", Arrival(steps=tau):
            yield tau
        case "steps", _:
            yield from (c.steps for c in there)
        case "exchanges", Exchange(computing=computing):
            yield len(computing)
        case "delay", Arrival(delay=delay):
            yield delay


def _arrays(s: Scenario, events: Iterable[Event]) -> Iterator[Any]:
    yield from s.case.x0.values()
    if s.case.problem is not None:
        yield s.case.problem.e
    for e in events:
        match e:
            case Messages(messages=sent):
                yield from (a for m in sent for a in m.delta.values())
            case Gradient(g=blocks) | Begin(x=blocks):
                yield from blocks.values()


def _long(a: Any) -> bool:
    """True if a number has more digits than float32 keeps."""
    return bool((np.asarray(a, dtype=float) != np.asarray(a, dtype=np.float32)).any())


def out_of_order(s: Scenario, last: int) -> bool:
    """True if the clients of an event don't come in the order of their numbers."""
    return any(who != sorted(who) for who in _named(s, last))


def twice(s: Scenario, last: int) -> bool:
    """True if a client is drawn twice in a round."""
    return any(len(set(who)) < len(who) for who in _named(s, last))


def changing(s: Scenario, last: int) -> bool:
    """True if a client takes another number of steps than in an earlier round."""
    took: dict[int, int] = {}
    for e in s.events[: last + 1]:
        if isinstance(e, Round):
            for i, tau in zip(e.participants, e.steps, strict=True):
                if took.setdefault(i, tau) != tau:
                    return True
    return False


def numbered_from(least: int, s: Scenario, last: int) -> bool:
    """True if a client has the number ``least`` or a greater number."""
    return any(i >= least for who in _named(s, last) for i in who)


def _named(s: Scenario, last: int) -> Iterator[list[int]]:
    for e in s.events[: last + 1]:
        if isinstance(e, Messages | Round):
            yield [c.number for c in taking_part(s, e)]


def gapped(s: Scenario, last: int) -> bool:
    """True if a number from zero to the largest client's number is missing in the case."""
    seen = {i for who in _named(s, last) for i in who}
    return bool(seen) and len(seen) <= max(seen)


def not_from_zero(s: Scenario, last: int) -> bool:
    """True if no client has the number zero."""
    return all(0 not in who for who in _named(s, last))


def local_steps(s: Scenario) -> tuple[list[int], list[int]]:
    """Numbers of the events, at level client, that are first local steps of their rounds, and of the later steps."""
    steps = [k for k, e in enumerate(s.events) if isinstance(e, Gradient)]
    first = [k for k in steps if k == 0 or isinstance(s.events[k - 1], Begin)]
    return first, [k for k in steps if k not in first]


def _zero(s: Scenario, which: Iterable[int], last: int) -> bool:
    return any(not any(a.any() for a in s.events[k].g.values()) for k in which if k <= last)  # type: ignore[union-attr]


OTHERWISE: dict[str, Callable[[Scenario, int], bool]] = {
    "where the first gradient of a round is zero": lambda s, last: _zero(s, local_steps(s)[0], last),
    "where a later gradient of a round is zero": lambda s, last: _zero(s, local_steps(s)[1], last),
    "where a client is drawn twice in a round": twice,
    "where clients do not come in the order of their numbers": out_of_order,
    "where a client's steps change from round to round": changing,
    "where clients are not numbered from zero": not_from_zero,
    "where clients are not numbered one after another": gapped,
    "where a client's number is 256 or more": lambda s, last: numbered_from(256, s, last),
    "where a client's number is 65536 or more": lambda s, last: numbered_from(65536, s, last),
}
"""Predicates on a case up to an event, by the words of the feature: features of the events that have no size."""
