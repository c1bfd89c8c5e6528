"""Defects of means: shares that don't sum to one, and clients merged because they have the same key."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import FunctionType
from typing import Any, cast

import numpy as np

from fedspec import population
from fedspec.algorithms.synchronous import model
from fedspec.catalogue import Method, Program
from fedspec.contract import Arrival, Event, Messages, Round
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, around_clients, behind, stepping, with_x
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions


@dataclass(frozen=True)
class Row:
    """Client behind a change: its steps, examples and norm, the version that it started from, and its number.

    An update that arrives has a number too: that of the arrivals before it.
    """

    steps: Any
    size: Any
    norm: Any
    begun: int = 0
    client: int = 0
    number: int = 0


Weighed = Callable[[Sequence[Any], Sequence[Row]], Sequence[Any]]
"""Function from the clients' shares and rows to the factors of their changes."""


def rows_of(inner: Running, event: Event, k: int = 0) -> list[Row]:
    """Clients behind the changes that an event brings."""
    problem = inner.case.problem
    match event:
        case Messages(messages=sent):
            return [Row(m.steps, m.weight, m.a_norm) for m in sent]
        case Round(participants=who, steps=steps) if problem:
            norm = inner.run.norm if isinstance(inner.run, Method) else lambda h, tau: tau
            sizes = [problem.examples[i] for i in who]
            return [Row(tau, n, norm(inner.h, tau)) for tau, n in zip(steps, sizes, strict=True)]
        case Arrival(client=i, steps=tau, delay=delay) if problem:
            return [Row(tau, problem.examples[i], tau, len(inner.state.versions) - 1 - delay, i, k)]
    return []


def averaged(
    weighed: Weighed, models: bool = False, once: Callable[[Sequence[Row]], Any] = lambda rows: 1
) -> Callable[[Running, Scenario], Running]:
    """Wrap a session so that the mean of a round, or of a full buffer, uses other shares.

    Args:
        weighed: function from the clients' shares to the factors of their changes.
        models: True: the factors average models, and the old model is subtracted.
        once: number of times that the old model is subtracted, from the rows.
    """

    def mean(there: Callable[..., Any], waits: Sequence[Row], x: Any, s: Scenario, deltas: Any, p: Any) -> Any:
        if len(p) != len(waits):
            return there(deltas, p)
        by = weighed(p.tolist(), waits)
        total = sum(b * row for b, row in zip(by, deltas, strict=True))
        return total + (sum(by) - once(waits)) * x if models else total

    return partial(over_rows, cast(FunctionType, weighted_mean), mean)


def over_rows(function: FunctionType, instead: Callable[..., Any], inner: Running, s: Scenario) -> Running:
    """Wrap a session so that another function replaces one that takes the rows of a round, or of a full buffer.

    Args:
        function: the function that is replaced.
        instead: its replacement: of the function, the clients behind the rows, the model before the event, the case
            and the arguments.
        inner: the session.
        s: the case.
    """
    waits: list[Row] = []

    def take(inner: Running, event: Event, k: int) -> Any:
        waits.extend(rows_of(inner, event, k))
        x = model(inner.state)

        def around(there: Callable[..., Any]) -> Callable[..., Any]:
            return partial(instead, there, waits, x, s)

        with inner.spec.behind({function: around}):
            answer = inner.step(event)
        if not getattr(inner.state, "pending", ()):
            waits.clear()
        return answer

    return Stepping(inner, take)


def _each(change: Callable[[float], float]) -> Weighed:
    return lambda p, rows: [change(float(q)) for q in p]


def _by_norm(p: Sequence[Any], rows: Sequence[Row]) -> list[Any]:
    return [sum(q * r.norm for q, r in zip(p, rows, strict=True)) * q / r.norm for q, r in zip(p, rows, strict=True)]


def _by_steps(p: Sequence[Any], rows: Sequence[Row]) -> list[Any]:
    return [sum(q * r.steps for q, r in zip(p, rows, strict=True)) * q / r.steps for q, r in zip(p, rows, strict=True)]


def _in_parts(whole: int, how: Callable[[float], int]) -> Weighed:
    return _each(lambda q: how(q * whole) / whole)


UNEVEN: Sequence[tuple[str, Weighed]] = (
    *((f"rounded to {k} digits", _each(lambda q, k=k: round(q, k))) for k in (1, 2, 3, 4)),  # type: ignore[misc]
    # Beside a tie the two ways to round differ.
    *((f"rounded to {k} digits", _in_parts(10**k, round)) for k in (1, 2, 3, 4)),
    *((f"cut off after {k} digits", _in_parts(10**k, math.floor)) for k in (1, 2, 3, 4)),
    *((f"rounded to multiples of 2^-{b}", _in_parts(2**b, round)) for b in (4, 7, 8, 10, 12, 15, 16)),
    *((f"cut off at multiples of 2^-{b}", _in_parts(2**b, math.floor)) for b in (4, 7, 8, 10, 12, 15, 16)),
    ("kept in float16", _each(lambda q: float(np.float16(q)))),
    ("of FedNova, p_i tau_eff / ||a_i||_1", _by_norm),
    ("of FedNova, p_i tau_eff / tau_i", _by_steps),
)
"""Wrong shares that need not sum to one, with their words."""


def _all(number: Callable[[int], Any]) -> Weighed:
    return lambda p, rows: [number(len(p))] * len(p)


def _as_they_are(p: Sequence[Any], rows: Sequence[Row]) -> Sequence[Any]:
    return p


def _sizes(p: Sequence[Any], rows: Sequence[Row]) -> list[Any]:
    return [r.size for r in rows]


ONCE: Mapping[str, tuple[Weighed, Callable[[Sequence[Row]], Any]]] = {
    "models are added and divided by n, with the old one subtracted once, where n times is due": (
        _as_they_are,
        lambda rows: 1 / len(rows),
    ),
    "models are added, not averaged, and the old one is subtracted once": (_all(lambda n: 1), lambda rows: 1),
    "models times n_i are added and divided by the sum of n_i, with the old one subtracted once": (
        _as_they_are,
        lambda rows: 1 / sum(r.size for r in rows),
    ),
    "models times n_i are added, and the old one is subtracted once": (_sizes, lambda rows: 1),
    "the old model is subtracted from each p_i y_i, n times where once is due": (_as_they_are, len),
    "models are averaged, and the old one is not subtracted": (_as_they_are, lambda rows: 0),
}
"""Wrong sums of models, and how many times the old model is subtracted, by their words."""


def _groups(keys: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    out: dict[Hashable, list[int]] = {}
    for k, key in enumerate(keys):
        out.setdefault(key, []).append(k)
    return out


Colliding = Callable[[Sequence[Any], Sequence[list[int]]], Mapping[int, Any]]
"""Function for the remaining shares by position, from all shares and the groups of positions with equal keys."""


def _some(which: int, again: bool) -> Colliding:
    def left(p: Sequence[Any], groups: Sequence[list[int]]) -> Mapping[int, Any]:
        whole = sum(p[g[which]] for g in groups) if again else 1
        return {g[which]: p[g[which]] / whole for g in groups}

    return left


def _of_last(p: Sequence[Any], groups: Sequence[list[int]]) -> Mapping[int, Any]:
    return {g[-1]: sum(p[k] for k in g) for g in groups}


def _mean_of_means(p: Sequence[Any], groups: Sequence[list[int]]) -> Mapping[int, Any]:
    return {k: p[k] / (sum(p[j] for j in g) * len(groups)) for g in groups for k in g}


def _sums(p: Sequence[Any], groups: Sequence[list[int]]) -> Mapping[int, Any]:
    return {k: p[k] * 0 + 1 / len(groups) for g in groups for k in g}


COLLIDING: Mapping[str, Colliding] = {
    "the last alone counts": _some(-1, True),
    "the first alone counts": _some(0, True),
    "the last alone counts, by its share of all": _some(-1, False),
    "the change of the last stands for each": _of_last,
    "the changes are averaged first, and that mean counts once": _mean_of_means,
    "the changes are added, and that sum counts once": _sums,
}
"""Mistakes in merging clients that have the same key, by their words."""


def _collides(key: Callable[[Row], Hashable], left: Colliding) -> Weighed:
    def weighed(p: Sequence[Any], rows: Sequence[Row]) -> list[Any]:
        kept = left(p, list(_groups([key(r) for r in rows]).values()))
        return [kept.get(k, 0 * q) for k, q in enumerate(p)]

    return weighed


def _models_by_norm(inner: Running, event: Event, k: int) -> Any:
    """Normalised averaging of the models, not of their changes: its coefficients do not sum to one."""
    rows, x = rows_of(inner, event), model(inner.state)
    p = shares([r.size for r in rows], x, inner.h.weights, [r.steps for r in rows])
    answer = inner.step(event)
    total = sum(answer["tau_eff"] * q / r.norm for q, r in zip(p.tolist(), rows, strict=True))
    after = answer["x"] + (total - 1) * x
    inner.state = with_x(inner.state, after)
    return {**answer, "x": after}


def _everywhere(instead: Callable[[Any, Any, Scenario], Any], inner: Running, s: Scenario) -> Running:
    """The shares are others wherever they are read: a function of the right ones, the examples and the case."""

    def around(there: Callable[..., Any]) -> Callable[..., Any]:
        return lambda examples, like, *more: instead(there(examples, like, *more), examples, s)

    return behind({cast(FunctionType, shares): around})(inner, s)


def _of_all_clients(p: Any, examples: Any, s: Scenario) -> Any:
    """The shares divided by the examples of all clients."""
    return p * sum(examples) / sum(s.case.problem.examples.tolist()) if s.case.problem else p


def _by(field: str) -> Any:
    """Changes scaled so that their mean is that over the groups with one value of a field of the mean within each."""

    def of_client(client: Callable[..., Any], clients: Any, plan: Any, x: Any) -> Callable[..., Any]:
        keys = getattr(plan, field)
        sizes = Counter(keys)
        factors, place = [len(keys) / (len(sizes) * sizes[key]) for key in keys], count()

        def one(*given: Any, **named: Any) -> Any:
            return client(*given, **named) * factors[next(place)]

        return one

    return behind({cast(FunctionType, population.each): around_clients(of_client)})


def in_groups(setting: Setting) -> Iterator[Defect]:
    """Yield defects in which changes of equal weight are averaged twice: within groups, then over the groups."""
    if setting.level != "round" or setting.options.get("weights", "uniform") != "uniform":
        return
    if not isinstance(setting.algorithm.run, Program) or "repeats" not in setting.takes:
        return
    groups = {"of a client that is drawn twice the mean counts once": "participants"}
    if "strategies" in setting.takes:
        groups["Delta is the mean over the strategies of the mean within each"] = "strategies"
    for words, field in groups.items():
        yield Defect(words=words, tail="delta", session=_by(field))


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of the shares by which clients are averaged."""
    found = {f.__name__ for f in functions(setting.algorithm, setting.level)}
    late = setting.algorithm.event == "arrival"
    if "weighted_mean" in found:
        for words, weighed in UNEVEN if not late else ():
            said = f"averaged by shares {words}, which need not sum to one"
            yield Defect(words=f"changes are {said}", tail="w", session=averaged(weighed))
            yield Defect(words=f"models, not changes, are {said}", tail="w", session=averaged(weighed, models=True))
        for words, (weighed, once) in ONCE.items():
            yield Defect(words=words, tail="delta", session=averaged(weighed, models=True, once=once))
        # Sizes play no part where updates arrive one by one.
        own: dict[str, Callable[[Row], Hashable]] = {
            "updates that began at one version": lambda r: r.begun,
            "updates of one client": lambda r: r.client,
        }
        sized: dict[str, Callable[[Row], Hashable]] = {"clients of one size": lambda r: float(r.size)}
        keys = {**(own if late else sized), "clients that take equally many steps": lambda r: int(r.steps)}
        for which, key in keys.items():
            for words, left in COLLIDING.items():
                whose = f"of {which}"
                yield Defect(words=f"{whose} {words}", tail="delta", session=averaged(_collides(key, left)))
    elif "tau_eff" in setting.algorithm.shows_at(setting.level) and hasattr(setting.algorithm.run, "server"):
        words = "models, not changes, are averaged by w_i tau_eff / ||a_i||_1, which need not sum to one"
        yield stepping(words, _models_by_norm)
        if setting.level == "round":
            said = "the shares p_i divide by the examples of all clients, not of the participants"
            yield Defect(words=said, tail="w", session=partial(_everywhere, _of_all_clients))
        for words, weighed in UNEVEN:
            if "FedNova" not in words:
                said = f"the shares p_i are {words} and need not sum to one"
                other = lambda p, n, s, weighed=weighed: p * 0 + np.array(weighed(p.tolist(), ()))  # noqa: E731
                yield Defect(words=said, tail="w", session=partial(_everywhere, other))
