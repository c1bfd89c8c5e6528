"""Defects of events and answers: lost, repeated, delayed or scaled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from fedspec.algorithms.synchronous import model
from fedspec.contract import Begin, Event
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, stepping, with_x
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting


def _scaled(factor: int, inner: Running, event: Event, k: int) -> Any:
    """Every step of the model is multiplied by a factor."""
    if isinstance(event, Begin):
        return inner.step(event)
    before = model(inner.state)
    answer = inner.step(event)
    x = before + factor * (model(inner.state) - before)
    inner.state = with_x(inner.state, x)
    return {**answer, "x": x}


def _lost(inner: Running, event: Event, k: int) -> Any:
    if k:
        return inner.step(event)
    return {"x": model(inner.state)}


def _allocates(inner: Running, event: Event, k: int) -> Any:
    before = model(inner.state)
    answer = inner.step(event)
    if k:
        return answer
    inner.state = with_x(inner.state, before)
    return {**answer, "x": before}


def _averages(rated: bool, kept: bool, inner: Running, event: Event, k: int) -> Any:
    """The first event moves the model by the mean change, whatever the rule makes of it.

    If ``rated``, it moves by eta times that change. If ``kept``, the state is as the rule makes it, else as it was.
    """
    before = inner.state
    answer = inner.step(event)
    if k or "delta" not in answer:
        return answer
    x = model(before) + (inner.h.eta if rated else 1) * answer["delta"]
    inner.state = with_x(inner.state if kept else before, x)
    return {**answer, "x": x} if kept else {"x": x, "delta": answer["delta"]}


def _twice(inner: Running, event: Event, k: int) -> Any:
    inner.step(event)
    return inner.step(event)


def _first_twice(inner: Running, event: Event, k: int) -> Any:
    return _twice(inner, event, k) if k == 0 else inner.step(event)


def _odd(inner: Running, event: Event, k: int) -> Any:
    return inner.step(event) if k % 2 == 0 else {"x": model(inner.state)}


ANSWERED: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "every answer is one event late": lambda models: models[-2],
    "every answer is zero": lambda models: 0 * models[-1],
    "every answer is the mean of the models before and after it; the run goes on from the one after": (
        lambda models: (models[-2] + models[-1]) / 2
    ),
    "every answer is the mean of the models of all events so far; the run goes on from the last": (
        lambda models: sum(models[2:], models[1]) / (len(models) - 1)
    ),
}
"""Models that are answered in the place of the last one, from those so far with the initial one, by their words."""


def _answered(of: Callable[[Sequence[Any]], Any], inner: Running, s: Scenario) -> Running:
    models = [model(inner.state)]

    def take(inner: Running, event: Event, k: int) -> Any:
        answer = inner.step(event)
        models.append(model(inner.state))
        return {**answer, "x": of(models)}

    return Stepping(inner, take)


def _still(inner: Running, event: Event, k: int) -> Any:
    before = model(inner.state)
    answer = inner.step(event)
    if not isinstance(event, Begin):
        inner.state = with_x(inner.state, before)
    return {**answer, "x": model(inner.state)}


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of whole answers, such as an answer that comes one event late."""
    for words, shown in ANSWERED.items():
        yield Defect(words=words, session=partial(_answered, shown))
    yield stepping("the model never moves", _still)
    yield stepping("every step goes the wrong way", partial(_scaled, -1), "step")
    yield stepping("every step is doubled", partial(_scaled, 2), "step")
    yield stepping("the first event is lost: the model and the state stay", _lost)
    yield stepping("the first event moves the state, not the model", _allocates)
    for rate in ("Delta itself", "eta times Delta") if "eta" in setting.numbers else ("Delta itself",):
        by, rated = f"the first event moves the model by {rate}", rate != "Delta itself"
        yield stepping(f"{by}; the state begins with the second", partial(_averages, rated, False))
        yield stepping(f"{by}; the state is as specified", partial(_averages, rated, True))
    yield stepping("every event is taken twice", _twice)
    yield stepping("the first event is taken twice", _first_twice)
    yield stepping("every second event is lost", _odd)
