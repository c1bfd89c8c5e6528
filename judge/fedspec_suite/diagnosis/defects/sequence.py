"""Defects of clients that run one after another and pass on a model that should be separate."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

from fedspec import population
from fedspec.algorithms.synchronous import model
from fedspec.catalogue import Method
from fedspec.contract import Event, Round
from fedspec_suite.diagnosis.defects.defect import (
    Defect,
    Running,
    Stepping,
    around_clients,
    behind,
    calling,
    stepping,
    with_x,
)
from fedspec_suite.measure.scenario import COLUMNS, Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions

_SENT = re.compile(r"(\w+)(?:, \w+)* = each\(")
"""Pattern of the name that an algorithm gives the first value that its clients return."""


def _returns(setting: Setting, found: Sequence[FunctionType]) -> str:
    """First value that clients return, ``change`` or ``model``; empty if it is neither."""
    if isinstance(setting.algorithm.run, Method):
        return "change"
    called = [m[1] for f in found for m in _SENT.finditer(inspect.getsource(inspect.unwrap(f)))]
    kinds = {"deltas": "change", "y": "model", "x_i": "model", "models": "model"}
    return kinds.get(called[0], "") if called else ""


def _each(
    of_client: Callable[[Callable[..., Any], Any, Any], Callable[..., Any]],
) -> Callable[[Running, Scenario], Running]:
    """The clients of a round do something else: from what they do, the plan and the model that all are sent."""
    each: Any = population.each
    return behind({each: around_clients(lambda client, clients, plan, x: of_client(client, plan, x))})


def _one_after_another(sends: str) -> Callable[[Running, Scenario], Running]:
    """Each client begins at the model at which the client before it ended."""

    def of_client(client: Callable[..., Any], plan: Any, x: Any) -> Callable[..., Any]:
        start = [x]

        def one(i: int, sent: Any, *given: Any, **named: Any) -> Any:
            out = client(i, start[0], *given, **named)
            first = out[0] if isinstance(out, tuple) else out
            start[0] = start[0] + first if sends == "change" else first
            now = start[0] - x if sends == "change" else first
            return (now, *out[1:]) if isinstance(out, tuple) else now

        return one

    return _each(of_client)


def _last_run_counts(client: Callable[..., Any], plan: Any, x: Any) -> Callable[..., Any]:
    """Only the last run counts of a client that is drawn several times; the mean is still over all runs."""
    turn = iter(range(len(plan.participants)))

    def one(i: int, *given: Any, **named: Any) -> Any:
        later = plan.participants[next(turn) + 1 :]
        out = client(i, *given, **named)
        if i not in later:
            return out
        return tuple(0 * part for part in out) if isinstance(out, tuple) else 0 * out

    return one


def _shows_mean(sends: str, inner: Running, s: Scenario) -> Running:
    """The answer shows the mean of the clients' models, not the model that the server continues from."""
    ends: list[Any] = []

    def of_client(client: Callable[..., Any], plan: Any, x: Any) -> Callable[..., Any]:
        ends.clear()

        def one(*given: Any, **named: Any) -> Any:
            out = client(*given, **named)
            first = out[0] if isinstance(out, tuple) else out
            ends.append(x + first if sends == "change" else first)
            return out

        return one

    def take(inner: Running, event: Event, k: int) -> Any:
        answer = inner.step(event)
        return {**answer, "x": sum(ends[1:], ends[0]) / len(ends)}

    return Stepping(_each(of_client)(inner, s), take)


def _pulled_once(anchored: Sequence[FunctionType], inner: Running, s: Scenario) -> Running:
    """The local steps have no proximal term; the model that they end at is pulled once."""
    h = inner.h

    def without(there: Callable[..., Any], *given: Any, **named: Any) -> Any:
        return there(*given, **{**named, "mu": 0 * named["mu"]})

    def of_client(client: Callable[..., Any], plan: Any, x: Any) -> Callable[..., Any]:
        def one(*given: Any, **named: Any) -> Any:
            delta = client(*given, **named)
            return delta - h.eta_l * h.mu * delta

        return one

    return behind(dict.fromkeys(anchored, calling(without)))(_each(of_client)(inner, s), s)


def _mean(weighed: Sequence[tuple[Any, Any]]) -> Any:
    return sum(n * a for n, a in weighed) / sum(n for n, _ in weighed)


def _one_at_a_time(by_examples: bool, inner: Running, event: Event, k: int) -> Any:
    """The round is run for one participant after another; only the server's model waits for all of them."""
    if not isinstance(event, Round) or len(event.participants) < 2 or not inner.case.problem:
        return inner.step(event)
    x, ends, deltas, answer = model(inner.state), [], [], {}
    for j, (i, tau) in enumerate(zip(event.participants, event.steps, strict=True)):
        inner.state = with_x(inner.state, x)
        own: dict[str, Any] = {n: getattr(event, n)[j : j + 1] for n in COLUMNS[2:]}
        answer = inner.step(replace(event, participants=(i,), steps=(tau,), **own))
        n = inner.case.problem.examples[i] if by_examples else 1
        ends.append((n, model(inner.state)))
        deltas += [(n, answer["delta"])] if "delta" in answer else []
    mean = _mean(ends)
    inner.state = with_x(inner.state, mean)
    return {**answer, "x": mean, **({"delta": _mean(deltas)} if deltas else {})}


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of clients that run one after another and pass values on to the next client."""
    if setting.level != "round":
        return
    found = functions(setting.algorithm, setting.level)
    if sends := _returns(setting, found):
        words = "each client begins at the model at which the one before it ended"
        yield Defect(words=words, session=_one_after_another(sends))
        words = "what is answered is the mean of the clients' models, not what the next round begins with"
        yield Defect(words=words, session=partial(_shows_mean, sends))
    if sends != "model" and "repeats" in setting.takes:
        words = "of a client that is drawn twice the last run alone counts, in a mean over both"
        yield Defect(words=words, session=_each(_last_run_counts))
    anchored = [f for f in found if {"anchor", "mu"} <= inspect.signature(inspect.unwrap(f)).parameters.keys()]
    if anchored and sends == "change" and "mu" in setting.numbers:
        words = "the proximal term pulls once, at the end of the local steps, not in each"
        yield Defect(words=words, session=partial(_pulled_once, anchored))
    if "everyone" not in setting.takes and "noise" not in setting.takes:
        words = "participants are taken one at a time: what the server keeps moves in between, its model at the end"
        yield stepping(words, partial(_one_at_a_time, setting.options.get("weights") == "examples"))
