"""Defects of stored values: frozen, late, lost, overwritten, or without effect in the first events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any, cast

import numpy as np

from fedspec import population
from fedspec.algorithms.synchronous import model
from fedspec.arith import put
from fedspec.contract import Begin, Event, Round
from fedspec.domains import DECAY, DOMAINS
from fedspec_suite.diagnosis.defects.defect import (
    Defect,
    OfClient,
    Running,
    Stepping,
    around_clients,
    began,
    each_event,
    part,
    step_with,
    stepping,
    with_part,
    with_shown,
)
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

Changed = Callable[[Any, Any, Any, int], Any]
"""Function for a field's value after an event, from its value before, the right value, the event, and the number of
events since the round, or the session, began.
"""


def _kept(name: str, begin: Callable[[Any], Changed], inner: Running, s: Scenario) -> Running:
    """A field becomes what a function makes of it, which ``begin`` gives from the field's first value."""
    changed, since = begin(part(inner.state, name)), [0]

    def take(inner: Running, event: Event, k: int) -> Any:
        before = part(inner.state, name)
        answer = inner.step(event)
        if isinstance(event, Begin):
            since[0] = 0
            return answer
        after = changed(before, part(inner.state, name), event, since[0])
        since[0] += 1
        inner.state = with_part(inner.state, name, after)
        return with_shown(answer, name, after, event)

    return Stepping(inner, take)


ABSENT = (1, 2, 3, 4, 5, 10)
"""Numbers of rounds without a client after which what is kept of it may be lost."""


def _frozen(start: Any) -> Changed:
    kept: list[Any] = [None]

    def after(before: Any, now: Any, event: Event, k: int) -> Any:
        if k == 0:
            kept[0] = now
        return kept[0]

    return after


def _every_second(start: Any) -> Changed:
    kept: list[Any] = [None]

    def after(before: Any, now: Any, event: Event, k: int) -> Any:
        if k == 0:
            kept[0] = before
        return kept[0] if k % 2 else now

    return after


def _absent(rounds: int, start: Any) -> Changed:
    """Lose the value that is kept of a client in the last of some rounds in a row without the client."""
    last: dict[int, int] = {}

    def after(before: Any, now: Any, event: Round, k: int) -> Any:
        last.update(dict.fromkeys(event.participants, k))
        S = [i for i, there in last.items() if k - there < rounds]
        return put(start, S, now[S])

    return after


def _shared(of: Callable[[Any], Any], everyone: bool, start: Any) -> Changed:
    """Replace the kept values of all participants, or clients, by one value made of those of the participants."""

    def after(before: Any, now: Any, event: Round, k: int) -> Any:
        # Who is named twice is the last by the second time.
        S = list(dict.fromkeys(event.participants[::-1]))[::-1]
        return put(now, list(range(len(now))) if everyone else S, of(now[S]))

    return after


def _late(name: str, inner: Running, s: Scenario) -> Running:
    """The field is kept as it should be, and what it changes by is seen by the rule an event too late."""
    true: list[Any] = [None]

    def take(inner: Running, event: Event, k: int) -> Any:
        seen = part(inner.state, name)
        answer = inner.step(event)
        if isinstance(event, Begin):
            true[0] = None
            return answer
        before = seen if true[0] is None else true[0]
        true[0] = before + (part(inner.state, name) - seen)
        inner.state = with_part(inner.state, name, before)
        return with_shown(answer, name, true[0], event)

    return Stepping(inner, take)


def _mean(rows: Any) -> Any:
    return rows.sum(axis=0) / len(rows)


def _last(rows: Any) -> Any:
    return rows[-1]


def _without(name: str, events: int, inner: Running, event: Event, k: int) -> Any:
    """A decay is zero in the first events."""
    if k >= events:
        return inner.step(event)
    return step_with(inner, event, h=replace(inner.h, **{name: 0 * getattr(inner.h, name)}))


def _overwritten(shown: str, name: str, inner: Running, event: Event, k: int) -> Any:
    """A hyper-parameter is, from the next event on, what an event made of it."""
    answer = inner.step(event)
    inner.h = replace(inner.h, **{name: answer[shown]})
    return answer


def _rescaled(name: str, by: str, inner: Running, s: Scenario) -> Running:
    """Multiply the kept value by this event's number and divide it by that of the event before."""
    before: list[Any] = []

    def take(inner: Running, event: Event, k: int) -> Any:
        if isinstance(event, Begin):
            return inner.step(event)
        state = inner.state
        # What the number is comes out when the event is taken.
        now = inner.step(event)[by]
        inner.state = with_part(state, name, part(state, name) * now / (before[-1] if before else now))
        before.append(now)
        return inner.step(event)

    return Stepping(inner, take)


def _instead(inner: Running, of_client: OfClient) -> Any:
    """Clients that do something else for as long as an event lasts."""
    return inner.spec.behind({cast(FunctionType, population.each): around_clients(of_client)})


def _one_by_one(name: str, inner: Running, event: Event, k: int) -> Any:
    """The round is run once for each participant, with the rows of those before it as they came out; then as a whole.

    The server makes its step of what the clients sent, from what was kept before the round. What is shown with a row
    for each client, and is not kept, is what each of them met.
    """
    if not isinstance(event, Round) or len(event.participants) < 2:
        return inner.step(event)
    before, sent = inner.state, dict[int, list[Any]]()
    rows = getattr(before, name)
    met: dict[str, Any] = {}
    for i in event.participants:
        out: dict[int, list[Any]] = {}
        inner.state = replace(before, **{name: rows})
        with _instead(inner, lambda client, *_, out=out: _noting(client, out)):
            shown = inner.step(event)
        for n, value in shown.items():
            if not hasattr(before, n) and np.shape(value) == np.shape(rows):
                met[n] = put(met.get(n, value), [i], value[[i]])
        own = sent.setdefault(i, [])
        own.append(out[i][len(own)])
        rows = put(rows, [i], getattr(inner.state, name)[[i]])
    inner.state = before
    with _instead(inner, lambda *_: lambda i, *given, **named: sent[i].pop(0)):
        return {**inner.step(event), **met}


def _noting(client: Callable[..., Any], out: dict[int, list[Any]]) -> Callable[..., Any]:
    def one(i: int, *given: Any, **named: Any) -> Any:
        out.setdefault(i, []).append(made := client(i, *given, **named))
        return made

    return one


def overwritten(setting: Setting, names: tuple[str, ...]) -> Iterator[Defect]:
    """Yield defects of state fields with one row per client: a row is written before the other clients read it."""
    if setting.level != "round":
        return
    for n in names:
        words = f"{n} of a client is written when it is done, and those behind it in the round see the new one"
        yield stepping(words, partial(_one_by_one, n), n)


def of(setting: Setting, names: tuple[str, ...]) -> Iterator[Defect]:
    """Yield defects of some state fields, and of the decays."""
    started = {"v0", "v0_l", "v_hat0"} & {*setting.numbers}

    def changing(name: str, words: str, begin: Callable[[Any], Changed]) -> Defect:
        return Defect(words=words, tail=name, session=partial(_kept, name, begin))

    for n in names:
        words = f"{n} starts at zero" + ", whatever v_0 is" * bool(started)
        yield Defect(words=words, tail=n, session=began(n, lambda inner: 0))
        for m in names if started else ():
            if m != n:
                as_other = began(n, lambda inner, m=m: part(inner.state, m))  # type: ignore[misc]
                yield Defect(words=f"{n} starts as {m} does", tail=n, session=as_other)
        yield changing(n, f"{n} stays as the first event leaves it", _frozen)
        yield changing(n, f"{n} is forgotten at every second event", _every_second)
        yield Defect(words=f"{n} starts as the model", tail=n, session=began(n, lambda inner: model(inner.state)))
        yield Defect(words=f"{n} is seen one event late", tail=n, session=partial(_late, n))
        if setting.level == "round":
            for rounds in ABSENT:
                out = f"sits out {rounds} rounds in a row" if rounds > 1 else "sits out"
                yield changing(n, f"{n} of a client that {out} is forgotten", partial(_absent, rounds))
            mean = f"the mean of {n} over the participants is kept of"
            yield changing(n, f"{mean} each of them", partial(_shared, _mean, False))
            yield changing(n, f"{mean} every client", partial(_shared, _mean, True))
            last = f"all clients share one {n}, that of the last participant"
            yield changing(n, last, partial(_shared, _last, True))
        if "tau_eff" in setting.algorithm.shows_at(setting.level):
            yield Defect(
                words=f"tau_eff of the round multiplies all of {n}, what was kept before too",
                tail=n,
                session=partial(_rescaled, n, "tau_eff"),
            )
    for n in setting.algorithm.shows_at(setting.level):
        if n.removesuffix("_t") in setting.numbers and n.endswith("_t"):
            base = n.removesuffix("_t")
            session = each_event(partial(_overwritten, n, base))
            yield Defect(words=f"{n} is kept as {base}, for later events too", session=session, about=base)
    if setting.level != "client":
        for n in setting.numbers:
            if DOMAINS[n].domain is DECAY and not DOMAINS[n].of_clients:
                yield stepping(f"{n} plays no part in the first event", partial(_without, n, 1))
                yield stepping(f"{n} plays no part in the first two events", partial(_without, n, 2))
