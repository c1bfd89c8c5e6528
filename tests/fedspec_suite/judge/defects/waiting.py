"""Updates that wait in a buffer: which of them stay, which are replaced, and how their delays are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from fedspec.contract import Arrival, Event
from fedspec_suite.judge.defects.defect import Defect, Running, Stepping, stepping
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


def _stays(always: bool) -> Callable[[Running, Event, int], Any]:
    """The last update waits on when the server has stepped."""

    def take(inner: Running, event: Event, k: int) -> Any:
        answer = inner.step(event)
        if not inner.state.pending and (always or inner.h.buffer > 1):
            inner.state = replace(inner.state, pending=(answer["delta_i"],))
        return answer

    return take


def _never_emptied(inner: Running, event: Event, k: int) -> Any:
    """What waits stays when the server has stepped, so that it steps at every later arrival."""
    assert isinstance(event, Arrival)
    waits = inner.state.pending
    answer = inner.step(event)
    inner.state = replace(inner.state, pending=(*waits, answer["delta_i"]))
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


def _one_each(last: bool) -> Callable[[Running, Scenario], Running]:
    """A client has one update in a buffer: its last, or its first."""

    def session(inner: Running, s: Scenario) -> Running:
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

    return session


def of(setting: Setting) -> Iterator[Defect]:
    """What becomes of updates that wait, where a server waits for several."""
    if setting.algorithm.event != "arrival" or "buffer" not in setting.numbers:
        return
    yield stepping("delays are counted in arrivals, not in versions of the model", _in_arrivals)
    yield stepping("the last update stays in the buffer when the server has stepped", _stays(True))
    yield stepping(
        "the last update stays in the buffer when the server has stepped, unless it waits for one alone", _stays(False)
    )
    yield stepping("the buffer is never emptied", _never_emptied)
    yield Defect(words="the server waits for one update more than buffer", tail="delta", session=_one_more)
    yield Defect(
        words="a second update of a client replaces its first in the buffer", tail="delta", session=_one_each(True)
    )
    yield Defect(
        words="a second update of a client is not taken into the buffer", tail="delta", session=_one_each(False)
    )
