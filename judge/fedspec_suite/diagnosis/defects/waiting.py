"""Defects of updates in a buffer: updates that stay or are replaced, and miscounted delays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fedspec.contract import Arrival, Event
from fedspec.readings import Normalise
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, stepping
from fedspec_suite.diagnosis.defects.shares import Weighed, averaged
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting


def _in_arrivals(inner: Running, event: Event, k: int) -> Any:
    """Every arrival makes a version, whether the server steps or not."""
    before = len(inner.state.versions)
    answer = inner.step(event)
    state = inner.state
    if len(state.versions) == before:
        inner.state = replace(state, versions=(*state.versions, state.x))
    return answer


def _stays(always: bool, inner: Running, event: Event, k: int) -> Any:
    """The last update waits on when the server has stepped."""
    answer = inner.step(event)
    if not inner.state.pending and (always or inner.h.buffer > 1):
        inner.state = replace(inner.state, pending=(answer["delta_i"],))
    return answer


def _never_emptied(inner: Running, event: Event, k: int) -> Any:
    """The waiting updates stay after the server's step, so that the server steps at every later arrival."""
    assert isinstance(event, Arrival)
    waits = inner.state.pending
    answer = inner.step(event)
    inner.state = replace(inner.state, pending=(*waits, answer["delta_i"]))
    return answer


def _slides(inner: Running, event: Event, k: int) -> Any:
    """A full buffer loses its oldest update when the next one comes: the server steps at every later arrival."""
    assert isinstance(event, Arrival)
    waits = inner.state.pending
    answer = inner.step(event)
    if not inner.state.pending:
        inner.state = replace(inner.state, pending=(*waits, answer["delta_i"])[1:])
    return answer


def _reach_back(inner: Running, delay: int) -> None:
    """Let an update begin at the first version where the server has stepped less often than its delay says."""
    versions = inner.state.versions
    missing = (versions[0],) * max(0, delay + 1 - len(versions))
    inner.state = replace(inner.state, versions=(*missing, *versions))


def _one_more(inner: Running, s: Scenario) -> Running:
    """The server waits for one update more; it has fewer versions then."""
    inner.h = replace(inner.h, buffer=inner.h.buffer + 1)

    def take(inner: Running, event: Event, k: int) -> Any:
        assert isinstance(event, Arrival)
        _reach_back(inner, event.delay)
        return inner.step(event)

    return Stepping(inner, take)


def _one_each(last: bool, inner: Running, s: Scenario) -> Running:
    """A client has one update in a buffer: its last, or its first."""
    owners: list[int] = []

    def take(inner: Running, event: Event, k: int) -> Any:
        assert isinstance(event, Arrival)
        _reach_back(inner, event.delay)
        waits = inner.state.pending
        if event.client in owners:
            at = owners.index(event.client)
            if not last:
                # It is computed as ever, and thrown away.
                state = inner.state
                answer = inner.step(event)
                inner.state = state
                return {"x": state.x, "delta_i": answer["delta_i"]}
            inner.state = replace(inner.state, pending=(*waits[:at], *waits[at + 1 :]))
            del owners[at]
        answer = inner.step(event)
        owners[:] = [*owners, event.client] if inner.state.pending else []
        return answer

    return Stepping(inner, take)


def _by_steps_of(chosen: Callable[[Sequence[int]], float]) -> Weighed:
    """Every update is divided by one number of steps, not by its own."""
    return lambda p, rows: [q * r.steps / chosen([b.steps for b in rows]) for q, r in zip(p, rows, strict=True)]


MISTAKEN: Mapping[str, Weighed] = {
    "the sum of a full buffer is divided by the number of all that came so far": lambda p, rows: [
        q * len(rows) / (rows[-1].number + 1) for q in p
    ],
    "the sum of a full buffer is divided by the number of the different clients in it": lambda p, rows: [
        q * len(rows) / len({r.client for r in rows}) for q in p
    ],
    "the mean of a buffer moves by 1 / buffer of what it lacks of each update, from 0 on": lambda p, rows: [
        q * (1 - 1 / len(rows)) ** (len(rows) - 1 - j) for j, q in enumerate(p)
    ],
}
"""Wrong shares of the updates in a full buffer, by the words of the defect."""

STEPS: Mapping[str, Weighed] = {
    "the steps of the one that fills it": _by_steps_of(lambda steps: steps[-1]),
    "the steps of the first in it": _by_steps_of(lambda steps: steps[0]),
    "the mean of all their steps": _by_steps_of(lambda steps: sum(steps) / len(steps)),
    "the most steps of one of them": _by_steps_of(max),
}
"""Wrong common divisors of the updates in a buffer, instead of each update's number of steps, by their words."""


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of waiting updates, if the server buffers several."""
    if setting.algorithm.event != "arrival" or "buffer" not in setting.numbers:
        return
    yield stepping("delays are counted in arrivals, not in versions of the model", _in_arrivals)
    yield stepping("the last update stays in the buffer when the server has stepped", partial(_stays, True))
    yield stepping(
        "the last update stays in the buffer when the server has stepped, unless it waits for one alone",
        partial(_stays, False),
    )
    yield stepping("the buffer is never emptied", _never_emptied)
    yield stepping("a full buffer is not emptied: the next update takes the place of the oldest", _slides)
    yield Defect(words="the server waits for one update more than buffer", tail="delta", session=_one_more)
    one_each = {
        "a second update of a client replaces its first in the buffer": True,
        "a second update of a client is not taken into the buffer": False,
    }
    for words, last in one_each.items():
        yield Defect(words=words, tail="delta", session=partial(_one_each, last))
    for words, weighed in MISTAKEN.items():
        yield Defect(words=words, tail="delta", session=averaged(weighed))
    if setting.options.get("normalise") == Normalise.PER_STEP:
        for words, weighed in STEPS.items():
            divided = f"all updates in a buffer are divided by {words}"
            yield Defect(words=divided, tail="delta", session=averaged(weighed))
