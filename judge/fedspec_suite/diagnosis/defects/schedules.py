"""Defects of schedules: shifted, counted in another unit, applied twice or not at all."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate
from types import FunctionType
from typing import Any, cast

from fedspec import population
from fedspec.contract import Event, Gradient, Messages
from fedspec.schedules import SHAPES, Clock, Every, Factor, Schedule, Schedules, read, schedule_of, timed
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, around_clients, calling
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions

_EACH = cast(FunctionType, population.each)


def _compounded(factor: Factor) -> Factor:
    """The product of all factors so far, which a rate has that is multiplied in place."""

    def product(t: int) -> float:
        out = 1.0
        for k in range(t + 1):
            out *= factor(k)
        return out

    return product


def _others(name: str, right: Schedule, level: str) -> Iterator[tuple[str, Every, Factor]]:
    """Words for other schedules, in what they count, and their factors."""
    every, s, counted = right.every, right.factor, right.every.replace("-", " ")
    yield f"{name} has no schedule", every, lambda t: 1.0
    yield f"the schedule of {name} starts one {counted} late", every, lambda t: s(max(t - 1, 0))
    yield f"the schedule of {name} starts one {counted} early", every, lambda t: s(t + 1)
    for other in Every if level == "client" else ():
        if other != every:
            words = "starts again in every round" if other is Every.STEP_OF_ROUND else f"moves once a {other}"
            yield f"the schedule of {name} {words}, not once a {counted}", other, s
    yield f"{name} is multiplied by its schedule's factor again and again", every, _compounded(s)


def told(s: Scenario, schedules: Schedules) -> Scenario:
    """The case whose events say the rates of these schedules; without a schedule of its own."""
    clock, events = Clock(), list[Event]()
    for e in s.events:
        event, clock = timed(e, clock, s.case.hyper, schedules)
        events.append(event)
    return Scenario(replace(s.case, schedules={}), tuple(events))


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects in which one rate has another schedule, and the others the claimed ones."""
    claimed = read(setting.schedules)
    for name, said in setting.schedules.items():
        for words, every, factor in _others(name, schedule_of(said), setting.level):
            given = partial(told, schedules={**claimed, name: (every, factor)})
            yield Defect(words=words, given=given, about=name)
        yield from _of_clients(name, schedule_of(said), setting)
        for words, of_case in _of_cases(name, schedule_of(said), claimed):
            yield Defect(words=words, given=of_case, about=name)


def _of_cases(name: str, right: Schedule, claimed: Schedules) -> Iterator[tuple[str, Callable[[Scenario], Scenario]]]:
    """Words for other schedules of a rate that depend on the case, and the case under them."""
    period, *floor = right.numbers or (0.0,)
    if "floor" in SHAPES[right.shape] and floor[0]:

        def absolute(s: Scenario) -> Scenario:
            part = replace(right, numbers=(period, floor[0] / float(s.case.hyper[name])))
            return told(s, {**claimed, name: (right.every, part.factor)})

        yield f"the floor of the schedule of {name} is the rate {floor[0]:g} itself, not {floor[0]:g} {name}", absolute

    def scaled(s: Scenario) -> Scenario:
        rate, others = float(s.case.hyper[name]), {n: v for n, v in claimed.items() if n != name}
        factors = [_rate_of(e, name, rate) / rate for e in told(s, claimed).events]
        under = told(s, others)
        return replace(under, events=tuple(map(_scaled, under.events, factors)))

    if name in ("eta", "eta_l"):
        yield f"the schedule of {name} multiplies {'Delta' if name == 'eta' else 'g'}, not {name}", scaled

    def each(s: Scenario) -> Scenario:
        # Before event k, the number of messages so far.
        counts = [len(getattr(e, "messages", getattr(e, "participants", ()))) for e in s.events]
        so_far = [0, *accumulate(counts)]
        return told(s, {**claimed, name: (right.every, lambda t: right.factor(so_far[t]))})

    if right.every is Every.ROUND and right.shape != "table":
        yield f"the schedule of {name} moves once a message, not once a round", each


def _rate_of(e: Event, name: str, rate: float) -> float:
    """A rate that an event says, else the case's."""
    said = getattr(e, name, None) if isinstance(e, Gradient) else dict(getattr(e, "hyper", None) or {}).get(name)
    return rate if said is None else float(said)


def _scaled(e: Event, factor: float) -> Event:
    """The event with its gradient, or its messages' changes, multiplied by a number."""
    match e:
        case Gradient(g=g):
            return replace(e, g={n: a * factor for n, a in g.items()})
        case Messages(messages=some):
            return replace(
                e, messages=tuple(replace(m, delta={n: a * factor for n, a in m.delta.items()}) for m in some)
            )
    return e


def _of_clients(name: str, right: Schedule, setting: Setting) -> Iterator[Defect]:
    """Yield the defect in which each client's schedule counts the rounds in which this client took part."""
    if setting.level != "round" or right.every is not Every.ROUND or "everyone" in setting.takes:
        return
    rules = [f for f in functions(setting.algorithm, setting.level) if name in inspect.signature(f).parameters]

    def session(inner: Running, s: Scenario) -> Running:
        before, now = Counter[int](), list[int]()

        def of_client(client: Callable[..., Any], *given: Any) -> Callable[..., Any]:
            def one(i: int, *given: Any, **named: Any) -> Any:
                now[:] = [i]
                made = client(i, *given, **named)
                now.clear()
                return made

            return one

        def own(there: Callable[..., Any], *given: Any, **named: Any) -> Any:
            if now and name in named:
                rate = float(s.case.hyper[name]) * right.factor(before[now[0]])
                named[name] = 0 * named[name] + rate
            return there(*given, **named)

        def take(inner: Running, event: Event, k: int) -> Any:
            with inner.spec.behind({_EACH: around_clients(of_client), **dict.fromkeys(rules, calling(own))}):
                answer = inner.step(event)
            before.update({*getattr(event, "participants", ())})
            return answer

        return Stepping(inner, take)

    yield Defect(words=f"the schedule of {name} counts each client's own rounds, not all", session=session, about=name)
