"""Defects of the noise that a server adds: its size, its sign and its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fedspec.algorithms.synchronous import model
from fedspec.averaging import DIVISORS, bounds
from fedspec.contract import Event, Messages, Round
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, with_x
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

_FACTORS: Mapping[str, Callable[[float, float, int], float]] = {
    "the noise has the wrong sign": lambda size, clip, n: -1.0,
    "no noise is added": lambda size, clip, n: 0.0,
    "every client adds the same noise, not the server once": lambda size, clip, n: n,
    "the noise is as large as if every client added its own": lambda size, clip, n: n**0.5,
    "the noise is divided by the number of participants twice": lambda size, clip, n: 1 / n,
    "the noise has the square of its standard deviation": lambda size, clip, n: size,
    "the noise is not multiplied by the clip's bound": lambda size, clip, n: 1 / clip,
}
"""Wrong factors of the noise, from its standard deviation, the clip's bound and the number of participants."""

_DIVISORS: Mapping[str, Callable[[float, int], float]] = {
    "the noise is not divided by the divisor": lambda D, n: D,
    "the noise is divided by the number of messages, not by the divisor": lambda D, n: D / n,
    "the noise is divided by the root of the divisor": lambda D, n: D**0.5,
}
"""Wrong factors of the noise, from a claimed divisor and the number of participants."""


def _sizes(s: Scenario) -> tuple[float, float, float]:
    """Multiplier, bound of the clip, and divisor (0: the number of participants) of a case."""
    if not s.case.messages:
        return s.case.hyper["sigma"], s.case.hyper["clip_norm"], 0.0
    said = dict(link.partition(" ")[::2] for link in s.case.messages)
    return float(said["noise"]), *bounds(s.case.messages)


def _participants(e: Event) -> int:
    return len(e.messages) if isinstance(e, Messages) else len(e.steps) if isinstance(e, Round) else 1


def as_noisy(s: Scenario, t: Scenario) -> Scenario:
    """The case ``t`` with noise of the size that ``s`` has."""

    def event(e: Event) -> Event:
        if not isinstance(e, Messages | Round):
            return e
        (m, c, D), (m_t, c_t, D_t), n = _sizes(s), _sizes(t), _participants(e)
        by = (m * c / (D or n)) / (m_t * c_t / (D_t or n))
        return replace(e, noise=tuple(by * z for z in e.noise))

    return replace(t, events=tuple(map(event, t.events)))


def _times(words: str, factor: Callable[[float, float, float, int], float]) -> Defect:
    """A defect that multiplies all noise by a function of multiplier, clip, divisor and number of participants."""

    def given(s: Scenario) -> Scenario:
        def event(e: Event) -> Event:
            if not isinstance(e, Messages | Round):
                return e
            by = factor(*_sizes(s), _participants(e))
            return replace(e, noise=tuple(by * z for z in e.noise))

        return replace(s, events=tuple(map(event, s.events)))

    return Defect(words=words, tail="delta", given=given)


def _after(inner: Running, s: Scenario) -> Running:
    """The server's step knows nothing of the noise; the model that it gives gets it whole."""

    def take(inner: Running, event: Event, k: int) -> Any:
        if not isinstance(event, Messages | Round):
            return inner.step(event)
        answer = inner.step(replace(event, noise=tuple(0 * z for z in event.noise)))
        multiplier, clip, divisor = _sizes(s)
        share = multiplier * clip / (divisor or _participants(event))
        x = model(inner.state) + np.array([share * z for z in event.noise])
        inner.state = with_x(inner.state, x)
        return {**answer, "x": x}

    return Stepping(inner, take)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield the defects, if the algorithm or the claim adds noise."""
    claimed = dict(link.partition(" ")[::2] for link in setting.messages)
    if "noise" not in setting.takes and "noise" not in claimed:
        return
    yield Defect(words="the noise is added to the model, not to the mean change", session=_after)
    for words, of in _FACTORS.items():
        yield _times(words, lambda s, c, D, n, of=of: of(s * c / (D or n), c, n))  # type: ignore[misc]
    if claimed.keys() & DIVISORS:
        for words, by in _DIVISORS.items():
            yield _times(words, lambda s, c, D, n, by=by: by(D, n))  # type: ignore[misc]
