"""Defects of clients: wrong objectives, steps or participation, and clients mistaken for one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any, cast

import numpy as np

from fedspec import arith, population
from fedspec.arith import put
from fedspec.catalogue import Method
from fedspec.contract import Arrival, Event, Quadratics, Round
from fedspec_suite.diagnosis.defects.defect import (
    Defect,
    Running,
    around_clients,
    behind,
    calling,
    of_events,
    step_with,
    stepping,
    with_gradients_of,
)
from fedspec_suite.measure.scenario import Scenario, arranged, mapped
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions, names


def of_problem(words: str, change: Callable[[Quadratics], Quadratics], tail: str = "") -> Defect:
    """Return a defect that changes the clients' objectives."""

    def given(s: Scenario) -> Scenario:
        return replace(s, case=replace(s.case, problem=change(s.case.problem) if s.case.problem else None))

    return Defect(words=words, tail=tail, given=given)


def _rounds(words: str, change: Callable[[Round], Round], tail: str = "") -> Defect:
    return of_events(words, Round, change, tail)


def _arrivals(words: str, change: Callable[[Arrival], Arrival]) -> Defect:
    return of_events(words, Arrival, change)


def _neighbour(by: int, s: Scenario) -> Scenario:
    """The update of a client comes from another client, whose number is ``by`` greater."""
    n = len(s.case.problem.e) if s.case.problem else 1
    return mapped(s, Arrival, lambda e: replace(e, client=(e.client + by) % n))


def _only(e: Round, which: slice) -> Round:
    return arranged(e, range(len(e.steps))[which])


def _drawn_once(e: Round) -> Round:
    """Let a client that is named several times take part once, at its first place, with the data of its last place."""
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
"""Mistakes in the factors that a round tells for its participants' changes."""


_STRATEGIES: Mapping[str, Callable[[tuple[str, ...]], tuple[str, ...]]] = {
    "the strategies are those of other clients": lambda named: named[::-1],
    "all clients follow the strategy of the first": lambda named: named[:1] * len(named),
    "all clients follow the strategy of the last": lambda named: named[-1:] * len(named),
}
"""Mistakes about the strategy that each participant follows."""


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of clients' work, such as wrong numbers of steps or wrong objectives."""
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
    if setting.algorithm.event == "arrival":
        yield _arrivals("no update counts as late", lambda e: replace(e, delay=0))
        yield _arrivals(
            "a late update counts as one version less late", lambda e: replace(e, delay=max(0, e.delay - 1))
        )
        for words, by in (("before", -1), ("after", 1)):
            said = f"an update is that of the client {words} the one who sends it"
            yield Defect(words=said, given=partial(_neighbour, by))
        yield _arrivals("everybody takes one local step", lambda e: replace(e, steps=1))
        yield _arrivals("one local step too many", lambda e: replace(e, steps=e.steps + 1))
    for said, falls in _FALLING.items():
        words = f"a client's gradients are divided by {said}, the number of the local step in the round"
        yield Defect(words=words, session=partial(_falling, falls))
    yield of_problem("the gradients are doubled", lambda q: replace(q, H=2 * q.H, e=2 * q.e))


def _renumbered(inner: Running, event: Event, k: int) -> Any:
    """The participants are the first clients, for what is kept; gradients and sizes are their own."""
    if not isinstance(event, Round):
        return inner.step(event)
    S = event.participants
    order = [*S, *(i for i in range(len(inner.clients)) if i not in S)]
    renumbered = replace(event, participants=tuple(range(len(S))))
    return step_with(inner, renumbered, clients=[inner.clients[i] for i in order], examples=inner.examples[order])


_DATA: Mapping[str, Callable[[int, Sequence[int]], int]] = {
    "participants train on the data of the first clients: their place is taken for their number": lambda k, S: k,
    "participants train on the data of the round's first one": lambda k, S: S[0],
    "participants train on the data of the round's last one": lambda k, S: S[-1],
    "participants train on the data of the one before them in the round": lambda k, S: S[k - 1],
}
"""The client whose objective a participant minimises, by its place in the round."""


def _sized_by_place(inner: Running, event: Event, k: int) -> Any:
    """Participants weigh as much as the first clients; their gradients are their own."""
    case = inner.case
    if not isinstance(event, Round) or not case.problem:
        return inner.step(event)
    n = case.problem.examples
    sizes = put(n, [*event.participants], n[: len(event.steps)])
    return step_with(inner, event, case=replace(case, problem=replace(case.problem, examples=sizes)))


_FALLING: Mapping[str, Callable[[int], Any]] = {"k": lambda k: k + 1, "sqrt(k)": lambda k: (k + 1) ** 0.5}
"""Divisors of the gradient of a round's k-th local step."""


def _falling(by: Callable[[int], Any], inner: Running, s: Scenario) -> Running:
    return with_gradients_of(inner, lambda gradient, k, y: gradient(k, y) / by(k))


def _data_of(other: Callable[[int, Sequence[int]], int], inner: Running, event: Event, k: int) -> Any:
    if not isinstance(event, Round):
        return inner.step(event)
    S = event.participants
    of = list(range(len(inner.problem.e if hasattr(inner, "problem") else inner.clients)))
    for place, i in enumerate(S):
        of[i] = other(place, S)
    there = {n: getattr(inner, n) for n in ("problem", "clients") if hasattr(inner, n)}
    others = {n: [v[i] for i in of] if n == "clients" else replace(v, H=v.H[of], e=v.e[of]) for n, v in there.items()}
    return step_with(inner, event, **others)


def _by_place(client: Callable[..., Any], clients: Any, plan: Any, x: Any) -> Callable[..., Any]:
    """Look up what a client has kept by its place; its gradients are its own."""
    places = iter(range(len(plan.participants)))
    return lambda i, *given, **named: client(next(places), *given, **named)


def _in_front(there: Callable[..., Any], rows: Any, S: Any, new: Any) -> Any:
    """Store what clients keep in the first places."""
    return there(rows, list(range(len(S))), new)


def _sizes(words: str, change: Callable[[Any], Any]) -> Defect:
    return of_problem(words, lambda q: replace(q, examples=change(q.examples)), tail="w")


def confused(setting: Setting) -> Iterator[Defect]:
    """Yield defects in which one client's data, weight or state is used for another client."""
    if setting.level not in {"round", "trace"}:
        return
    if any("examples" in f.__code__.co_names for f in functions(setting.algorithm, setting.level)):
        yield _sizes(
            "clients weigh as much as the client before them (n_(i-1) for n_i)", lambda n: n[[-1, *range(len(n) - 1)]]
        )
        yield _sizes("clients weigh as much as their squared sizes say (n_i^2 for n_i)", lambda n: n**2)
        yield _sizes("every client counts one example more than it has", lambda n: n + 1)
        if setting.level == "round":
            words = "participants weigh as much as the first clients: their place is taken for their number"
            yield stepping(words, _sized_by_place, "w")
    if setting.level == "round":
        for words, other in _DATA.items():
            yield stepping(words, partial(_data_of, other))
    called = {n for f in functions(setting.algorithm, setting.level) for n in names(f)}
    if setting.level == "round" and {"each", "put"} <= called and "everyone" not in setting.takes:
        each, put = (cast(FunctionType, f) for f in (population.each, arith.put))
        kept = "what clients keep is"
        place = "by their place among the participants, not by their number"
        yield stepping(f"{kept} looked up and stored {place}", _renumbered)
        yield Defect(words=f"{kept} looked up {place}", session=behind({each: around_clients(_by_place)}))
        yield Defect(words=f"{kept} stored {place}", session=behind({put: calling(_in_front)}))
