"""Defects of exchanges among peers: a wrong mixing matrix or wrong participants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fedspec.algorithms.synchronous import model
from fedspec.arith import Array
from fedspec.contract import Event, Exchange
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, of_events, stepping
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting


def _mixed(words: str, change: Callable[[Array], Array]) -> Defect:
    return of_events(words, Exchange, lambda e: replace(e, mixing=change(e.mixing)))


def _square(W: Array, change: Callable[[Array], Array]) -> Array:
    """The changed matrix, where there is a row for each column."""
    return change(W) if W.shape[0] == W.shape[1] else W


def _in_turn(W: Array) -> Array:
    """The matrix by which rows come out where each is mixed with those before it as they are by then."""
    out: Array = np.eye(len(W), dtype=W.dtype) + W * 0
    for i, row in enumerate(W):
        out[i] = row @ out
    return out


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of gossip, such as a transposed mixing matrix."""
    if setting.level != "trace" or setting.algorithm.event != "exchange":
        return
    yield _mixed("W is transposed", lambda W: _square(W, lambda W: W.T.copy()))
    yield _mixed("W is made symmetric, (W + W')/2", lambda W: _square(W, lambda W: (W + W.T) / 2))
    yield _mixed(
        "half of W is mixed by, (I + W)/2", lambda W: _square(W, lambda W: (np.eye(len(W), dtype=W.dtype) + W) / 2)
    )
    yield _mixed("every exchange is made twice", lambda W: _square(W, lambda W: W @ W))
    yield _mixed("rows are mixed in place, each with what those before it have become", lambda W: _square(W, _in_turn))
    yield _mixed("nobody mixes", lambda W: _square(W, lambda W: np.eye(len(W), dtype=W.dtype) + W * 0))
    yield _mixed("all mix evenly, whatever W says", lambda W: (W * 0 + 1) / W.shape[1])
    yield _mixed("each client mixes evenly with those of whom it hears, whatever W says", _evenly)
    if {"everyone", "one-set"} & {*setting.takes} or "senders" not in setting.takes:
        yield stepping("only the first local step of a round mixes", _at_first)
    if "everyone" not in setting.takes:
        yield of_events("all clients compute, whoever is selected", Exchange, _all_compute)
        if "peers" not in setting.takes:
            yield of_events("a sender that computed in no step of the round is not counted", Exchange, _idle_uncounted)
    if "peers" not in setting.takes:
        yield Defect(words="a round without local steps changes nothing", session=_left_out)
    yield of_events("a local step in which nobody computes is skipped, its exchange too", Exchange, _never_idle)


def _evenly(W: Array) -> Array:
    heard = np.array([[int(bool(w > 0)) for w in row] for row in W])
    out: Array = W * 0 + heard
    for i, row in enumerate(heard):
        out[i] = out[i] / int(row.sum())
    return out


def _at_first(inner: Running, event: Event, k: int) -> Any:
    """Take the steps of a round after the first one as a round in which nobody hears of others."""
    if (
        not isinstance(event, Exchange)
        or len(event.computing) < 2
        or event.senders
        or len(event.mixing) != event.mixing.shape[1]
    ):
        return inner.step(event)
    inner.step(replace(event, computing=event.computing[:1]))
    W = event.mixing
    return inner.step(replace(event, computing=event.computing[1:], mixing=np.eye(len(W), dtype=W.dtype) + W * 0))


def _left_out(inner: Running, s: Scenario) -> Running:
    """The server makes no step in a round without local steps: neither the model nor what is kept moves."""
    last: dict[str, Any] = {}

    def take(inner: Running, event: Event, k: int) -> Any:
        before, answer = inner.state, inner.step(event)
        if isinstance(event, Exchange) and not event.computing:
            inner.state = before
            return {**answer, **{n: v for n, v in last.items() if n != "delta"}, "x": model(before)}
        last.update(answer)
        return answer

    return Stepping(inner, take)


def _never_idle(e: Exchange) -> Exchange:
    return replace(e, computing=tuple(S for S in e.computing if S))


def _all_compute(e: Exchange) -> Exchange:
    return replace(e, computing=tuple(tuple(range(e.mixing.shape[1])) for _ in e.computing))


def _idle_uncounted(e: Exchange) -> Exchange:
    busy = {i for S in e.computing for i in S}
    return replace(e, senders=tuple(i for i in e.senders if i in busy) or e.senders)
