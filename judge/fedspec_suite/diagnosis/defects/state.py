"""Defects of the state between events: what is stored, and for how long."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import partial
from operator import attrgetter
from types import FunctionType
from typing import Any, cast

import numpy as np

from fedspec.algorithms.synchronous import model
from fedspec.arith import put
from fedspec.catalogue import LocalSolver
from fedspec.client.delay import due, updates
from fedspec.contract import Begin, Event, Gradient, Messages
from fedspec.params import layers, shapes
from fedspec_suite.diagnosis.defects import kept
from fedspec_suite.diagnosis.defects.defect import (
    Defect,
    Running,
    Stepping,
    each_event,
    part,
    stepping,
    with_part,
    with_x,
)
from fedspec_suite.diagnosis.defects.lagging import steps_of_event
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

CONSTANT = {"x", "clients", "p", "cover", "layers", "shapes"}
"""State fields that hold the model, or that no event changes."""


def state_fields(setting: Setting) -> tuple[str, ...]:
    """Return the names of the state fields beside the model, those of records in it too; empty if it is no record."""
    run, served = setting.algorithm.run, setting.algorithm.served if setting.level == "server" else None
    begin = served.init if served else run.begin if isinstance(run, LocalSolver) else run.init
    kind = typing.get_type_hints(begin).get("return") if begin else None
    return tuple(dict.fromkeys(n for n in _fields(kind) if n not in CONSTANT))


def _fields(kind: Any) -> Iterator[str]:
    hints = typing.get_type_hints(kind) if is_dataclass(kind) else {}
    for name, inner in hints.items():
        yield from _fields(inner) if is_dataclass(inner) else (name,)


def _read(name: str, inner: Running) -> Any:
    """A field of the state, or all of it if the name is empty."""
    return part(inner.state, name) if name else inner.state


def _put_back(name: str, inner: Running, value: Any) -> None:
    """Replace what ``_read`` gives; the model stays."""
    inner.state = with_part(inner.state, name, value) if name else with_x(value, model(inner.state))


def _forgets(name: str, inner: Running, s: Scenario) -> Running:
    first = _read(name, inner)

    def take(inner: Running, event: Event, k: int) -> Any:
        if not isinstance(event, Begin):
            _put_back(name, inner, first)
        return inner.step(event)

    return Stepping(inner, take)


def _stays(
    read: Callable[[Running], Any], put_back: Callable[[Running, Any], None], at: type[Event] = Begin
) -> Callable[[Running, Scenario], Running]:
    """Wrap a session so that what ``read`` gives before an event of a type is put back behind the event."""

    def take(inner: Running, event: Event, k: int) -> Any:
        before, answer = read(inner), inner.step(event)
        if isinstance(event, at):
            put_back(inner, before)
        return answer

    return each_event(take)


def _keeps(name: str) -> Callable[[Running, Scenario], Running]:
    return _stays(partial(_read, name), partial(_put_back, name))


def _set(name: str, inner: Running, value: Any) -> None:
    setattr(inner, name, value)


def _ahead(by: int, inner: Running, s: Scenario) -> Running:
    inner.state = with_part(inner.state, "t", part(inner.state, "t") + by)
    return inner


def _counts(of: Callable[[Event], int], inner: Running, event: Event, k: int) -> Any:
    """The count of events goes up by something else in each."""
    if not isinstance(event, Begin):
        inner.state = with_part(inner.state, "t", part(inner.state, "t") + of(event) - 1)
    return inner.step(event)


def _of_block(inner: Running, s: Scenario) -> Running:
    """The count of events goes up with every block of the model, each of which sees its own."""
    blocks = layers(shapes(s.case.x0))

    def take(inner: Running, event: Event, k: int) -> Any:
        if isinstance(event, Begin):
            return inner.step(event)
        before, after = inner.state, inner.state
        answer: dict[str, Any] = {}
        for j, at in enumerate(blocks):
            inner.state = replace(before, t=before.t + j)
            found = inner.step(event)
            answer = {n: joined(answer.get(n, v), v, at) for n, v in found.items()}
            made = {f.name: getattr(inner.state, f.name) for f in fields(inner.state)}
            after = replace(after, **{n: joined(getattr(after, n), v, at) for n, v in made.items()})
        inner.state = replace(after, t=before.t + len(blocks))
        return answer

    def joined(all_: Any, some: Any, at: slice) -> Any:
        """A vector with those of a block put into it."""
        whole = isinstance(some, np.ndarray) and some.shape == (blocks[-1].stop,)
        return put(all_, list(range(at.start, at.stop)), some[at]) if whole else some

    return Stepping(inner, take)


def _sent(event: Event) -> int:
    """Number of clients in an event."""
    return len(event.messages if isinstance(event, Messages) else getattr(event, "participants", (0,)))


def outlives(name: str) -> Callable[[Running, Scenario], Running]:
    """Wrap a local solver's session so that a value that each round begins anew is kept instead."""
    return _stays(attrgetter(name), partial(_set, name))


def _pulls_to_the_model_before(at: type[Event]) -> Callable[[Running, Scenario], Running]:
    """The anchor is the model before the event: where rounds begin, or after every local step."""
    return _stays(lambda inner: model(inner.state), partial(_set, "anchor"), at)


def _short_steps(kept: bool, inner: Running, event: Event, k: int) -> Any:
    """A step that leaves the model where it is does not count as one; nothing else that it changes is kept either."""
    before, answer = inner.state, inner.step(event)
    if isinstance(event, Begin) or not (model(inner.state) == model(before)).all():
        return answer
    if kept:
        inner.state = replace(inner.state, t=before.t)
        return answer
    inner.state = before
    return {n: getattr(before, n, value) for n, value in answer.items()}


def _short_uncounted(inner: Running, s: Scenario) -> Running:
    """A step that leaves the model where it is is none for the count of steps, but is for that of updates."""
    made = [0]

    def take(inner: Running, event: Event, k: int) -> Any:
        before = inner.state
        if isinstance(event, Begin):
            made[0] = 0
            return inner.step(event)
        h = s.case.hyper
        made[0] += due(before.t + 1, h["z"], h.get("epoch", 1))
        with inner.spec.behind({cast(FunctionType, updates): lambda there: lambda t, z, epoch=1: made[0]}):
            answer = inner.step(event)
        if (model(inner.state) == model(before)).all():
            inner.state = replace(inner.state, t=before.t)
        return answer

    return Stepping(inner, take)


def _left_behind(inner: Running, s: Scenario) -> Running:
    """A buffer that received more messages once is read to its end."""
    received: list[Any] = []

    def take(inner: Running, event: Event, k: int) -> Any:
        if isinstance(event, Messages):
            received[: len(event.messages)] = event.messages
            event = replace(event, messages=tuple(received))
        return inner.step(event)

    return Stepping(inner, take)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of the state between events, such as a buffer that is forgotten."""
    names = state_fields(setting)
    # What a server of any kind within the state keeps is known by what is shown of it.
    within = setting.algorithm.shows_at(setting.level) if "server" in names else ()
    vectors = [n for n in dict.fromkeys((*names, *within)) if n != "t"]
    if len(names) > 1:
        yield Defect(words="all state but the model is forgotten before every event", session=partial(_forgets, ""))
    for n in vectors:
        yield Defect(words=f"{n} is forgotten before every event", tail=n, session=partial(_forgets, n))
    if "t" in names:
        yield Defect(words="t stands still", session=partial(_forgets, "t"))
        yield Defect(words="t is one ahead", session=partial(_ahead, 1))
        if setting.level in {"client", "server"}:
            yield Defect(words="t goes up with each block of the model, which sees its own t", session=_of_block)
        if setting.level != "client":
            yield stepping("t goes up by the number of clients that take part", partial(_counts, _sent))
            yield stepping(
                "t goes up by the most local steps of a round", partial(_counts, lambda e: max(steps_of_event(e)))
            )
    if setting.level == "server":
        words = "what a round with more messages received is read again behind those of a smaller one"
        yield Defect(words=words, session=_left_behind)
    yield from kept.overwritten(setting, names)
    yield from kept.of(setting, tuple(vectors))
    if setting.level == "client":
        if names:
            yield Defect(words="the state lives on when a new round begins", session=_keeps(""))
        if "t" in names:
            yield Defect(words="t is not reset when a new round begins", session=_keeps("t"))
        if "k" in inspect.signature(setting.algorithm.rules[0]).parameters:
            yield Defect(words="k is not reset when a new round begins", session=outlives("k"))
        for n in vectors if len(names) > 1 else ():
            yield Defect(words=f"{n} lives on when a new round begins", tail=n, session=_keeps(n))
        if "mu" in setting.numbers:
            yield Defect(words="the proximal term pulls to the model of the first round", session=outlives("anchor"))
            words = "the proximal term pulls to the model of the step before"
            yield Defect(words=words, session=_pulls_to_the_model_before(Gradient))
            words = "the proximal term pulls to the model that the round before ended with"
            yield Defect(words=words, session=_pulls_to_the_model_before(Begin))
        if "t" in names and "eps_s" in setting.numbers:
            yield stepping("a step that is not taken is not counted", partial(_short_steps, True))
            words = "a step that is not taken is not counted, but the update of v that it made is"
            yield Defect(words=words, session=_short_uncounted)
            yield stepping("a step that is not taken changes nothing that is kept either", partial(_short_steps, False))
