"""Clients: what they minimise, how long, and who takes part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fedspec.algorithms.synchronous import model
from fedspec.catalogue import Method
from fedspec.contract import Arrival, Event, Quadratics, Round
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, of_events, with_x
from fedspec_suite.measure.scenario import Scenario, arranged
from fedspec_suite.measure.setting import Setting


def of_problem(words: str, change: Callable[[Quadratics], Quadratics], tail: str = "") -> Defect:
    """A defect in what the clients are told of their problem."""

    def given(s: Scenario) -> Scenario:
        return replace(s, case=replace(s.case, problem=change(s.case.problem) if s.case.problem else None))

    return Defect(words=words, tail=tail, given=given)


def _rounds(words: str, change: Callable[[Round], Round], tail: str = "") -> Defect:
    return of_events(words, Round, change, tail)


def _arrivals(words: str, change: Callable[[Arrival], Arrival]) -> Defect:
    return of_events(words, Arrival, change)


def _neighbour(by: int) -> Callable[[Scenario], Scenario]:
    """Whoever sends an update has it from another client, by number."""

    def given(s: Scenario) -> Scenario:
        n = len(s.case.problem.e) if s.case.problem else 1
        events = (replace(e, client=(e.client + by) % n) if isinstance(e, Arrival) else e for e in s.events)
        return replace(s, events=tuple(events))

    return given


def _only(e: Round, which: slice) -> Round:
    return arranged(e, range(len(e.steps))[which])


def _drawn_once(e: Round) -> Round:
    """Who is named several times takes part once, where it stands first, with what it is told last."""
    last = {i: k for k, i in enumerate(e.participants)}
    return arranged(e, tuple(last.values()))


_SCALES: Mapping[str, Callable[[tuple[float, ...]], tuple[float, ...]]] = {
    "the weights of the changes are ignored": lambda scales: tuple(1.0 for _ in scales),
    "the weights of the changes are divided by their mean": lambda scales: tuple(
        s * len(scales) / sum(scales) for s in scales
    ),
    "the weights of the changes are divided by their sum": lambda scales: tuple(s / sum(scales) for s in scales),
    "the changes are divided by their weights": lambda scales: tuple(1 / s for s in scales),
    "the weights of the changes are squared": lambda scales: tuple(s * s for s in scales),
    "the weights are those of other changes": lambda scales: scales[::-1],
}
"""What may be made of the factors that a round tells for its participants' changes."""


_STRATEGIES: Mapping[str, Callable[[tuple[str, ...]], tuple[str, ...]]] = {
    "the strategies are those of other clients": lambda named: named[::-1],
    "all clients follow the strategy of the first": lambda named: named[:1] * len(named),
    "all clients follow the strategy of the last": lambda named: named[-1:] * len(named),
}
"""Which participant follows which strategy."""

_NOISE: Mapping[str, Callable[[int], float]] = {
    "every client adds the same noise, not the server once": lambda n: n,
    "the noise is as large as if every client added its own": lambda n: n**0.5,
    "the noise is divided by the number of participants twice": lambda n: 1 / n,
}
"""By how much noise comes out wrong, by the number of participants."""


def _noise_after(inner: Running, s: Scenario) -> Running:
    """The server's step knows nothing of the noise; the model that it gives gets it whole."""

    def take(inner: Running, event: Event, k: int) -> Any:
        if not isinstance(event, Round):
            return inner.step(event)
        answer = inner.step(replace(event, noise=tuple(0 * z for z in event.noise)))
        share = inner.h.sigma * inner.h.clip_norm / len(event.participants)
        x = model(inner.state) + np.array([share * z for z in event.noise])
        inner.state = with_x(inner.state, x)
        return {**answer, "x": x}

    return Stepping(inner, take)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield the defects in the work of clients, such as their steps and objectives."""
    yield of_problem("the clients go uphill", lambda q: replace(q, H=-q.H, e=-q.e))
    if setting.level == "round":
        yield _rounds("all take as many steps as the first", lambda e: replace(e, steps=(e.steps[0],) * len(e.steps)))
        yield _rounds(
            "all take as many steps as the busiest", lambda e: replace(e, steps=(max(e.steps),) * len(e.steps))
        )
        yield _rounds("everybody takes one local step", lambda e: replace(e, steps=(1,) * len(e.steps)))
        yield _rounds("one local step too many", lambda e: replace(e, steps=tuple(t + 1 for t in e.steps)))
        yield _rounds("one local step too few", lambda e: replace(e, steps=tuple(max(t - 1, 1) for t in e.steps)))
        yield _rounds("the steps are those of other clients", lambda e: replace(e, steps=e.steps[::-1]))
        if "everyone" not in setting.takes:
            yield _rounds("only the first participant computes", lambda e: _only(e, slice(0, 1)))
            yield _rounds("only the last participant computes", lambda e: _only(e, slice(-1, None)))
        if not isinstance(setting.algorithm.run, Method):
            yield of_problem(
                "all clients weigh alike", lambda q: replace(q, examples=np.ones_like(q.examples)), tail="w"
            )
        if "strategies" in setting.takes:
            for words, of in _STRATEGIES.items():
                yield _rounds(words, lambda e, f=of: replace(e, strategies=f(e.strategies)))  # type: ignore[misc]
        if "repeats" in setting.takes:
            yield _rounds("a client that is drawn twice counts once", _drawn_once)
        if "scales" in setting.takes:
            for words, made in _SCALES.items():
                yield _rounds(words, lambda e, f=made: replace(e, scales=f(e.scales)), tail="delta")  # type: ignore[misc]
        if "noise" in setting.takes:
            yield _rounds("the noise has the wrong sign", lambda e: replace(e, noise=tuple(-z for z in e.noise)))
            yield Defect(words="the noise is added to the model, not to the mean change", session=_noise_after)
            for words, times in _NOISE.items():
                yield _rounds(words, lambda e, f=times: replace(e, noise=tuple(f(len(e.steps)) * z for z in e.noise)))  # type: ignore[misc]
            yield _rounds("no noise is added", lambda e: replace(e, noise=tuple(0 * z for z in e.noise)))
    if setting.algorithm.event == "arrival":
        yield _arrivals("no update counts as late", lambda e: replace(e, delay=0))
        yield _arrivals(
            "a late update counts as one version less late", lambda e: replace(e, delay=max(0, e.delay - 1))
        )
        for words, by in (("before", -1), ("after", 1)):
            yield Defect(words=f"an update is that of the client {words} the one who sends it", given=_neighbour(by))
        yield _arrivals("everybody takes one local step", lambda e: replace(e, steps=1))
        yield _arrivals("one local step too many", lambda e: replace(e, steps=e.steps + 1))
    yield of_problem("the gradients are doubled", lambda q: replace(q, H=2 * q.H, e=2 * q.e))
