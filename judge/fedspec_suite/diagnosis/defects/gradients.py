"""Defects of gradients in a local solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fedspec.algorithms.synchronous import model
from fedspec.arith import Array
from fedspec.contract import Case, Event, Gradient
from fedspec.params import flatten
from fedspec_suite.diagnosis.defects.defect import Defect, Running, stepping
from fedspec_suite.measure.scenario import Scenario


def _regraded(words: str, change: Callable[[Any, Any, int], Any]) -> Defect:
    """A change of every gradient: from it, the one before it (itself at first) and its number."""

    def given(s: Scenario) -> Scenario:
        events: list[Event] = []
        before, k = None, 0
        for e in s.events:
            if isinstance(e, Gradient):
                g = {n: change(a, (before or e.g)[n], k) for n, a in e.g.items()}
                before, k = e.g, k + 1
                events.append(replace(e, g=g))
            else:
                before, k = None, 0
                events.append(e)
        return replace(s, events=tuple(events))

    return Defect(words=words, given=given)


def left_alone(where: Callable[[Array, Case], Array], inner: Running, event: Event, k: int) -> Any:
    """Take an event in which the coordinates that are to be left alone keep their model and their state."""
    before, answer = inner.state, inner.step(event)
    if not isinstance(event, Gradient):
        return answer
    rows = {n: sum(abs(a)) if event.tokens else a for n, a in event.g.items()}
    still = where(flatten(rows), inner.case)
    kept = {n: _where(still, v, getattr(inner.state, n)) for n, v in _vectors(before, len(still)).items()}
    inner.state = replace(inner.state, **kept) if is_dataclass(before) else _where(still, before, inner.state)
    x = model(inner.state)
    return {**answer, **{n: v for n, v in kept.items() if n in answer}, "x": x}


def _vectors(state: Any, d: int) -> dict[str, Array]:
    """Fields of a state that hold one number for each coordinate, by name."""
    held = {f.name: getattr(state, f.name) for f in fields(state)} if is_dataclass(state) else {}
    return {n: v for n, v in held.items() if isinstance(v, np.ndarray) and v.shape == (d,)}


def _where(still: Array, before: Array, after: Array) -> Array:
    out = after.copy()
    out[still] = before[still]
    return out


def _zero_blocks(g: Array, case: Case) -> Array:
    sizes = [a.size for a in case.x0.values()]
    parts = np.split(np.array([x == 0 for x in g], dtype=bool), np.cumsum(sizes)[:-1])
    return np.concatenate([np.full(part.size, part.all()) for part in parts])


def _zeros(g: Array, case: Case) -> Array:
    return np.array([x == 0 for x in g], dtype=bool)


ALL = (
    _regraded("the gradient has the wrong sign", lambda g, before, k: -g),
    _regraded("the gradient is that of the step before", lambda g, before, k: before),
    _regraded("the gradient is replaced by its sign", lambda g, before, k: np.sign(g)),
    _regraded("the gradient is divided by the number of the step", lambda g, before, k: g / (k + 1)),
    stepping("a block whose gradient is zero is left alone, with its state", partial(left_alone, _zero_blocks)),
    stepping("a coordinate whose gradient is zero is left alone, with its state", partial(left_alone, _zeros)),
)
