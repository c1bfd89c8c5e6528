"""Exchanges among peers: the matrix by which they mix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Exchange
from fedspec_suite.diagnosis.defects.defect import Defect
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting


def _mixed(words: str, change: Callable[[Array], Array]) -> Defect:
    return Defect(words=words, given=lambda s: _each(s, lambda e: replace(e, mixing=change(e.mixing))))


def _each(s: Scenario, change: Callable[[Exchange], Exchange]) -> Scenario:
    """The case with something else in the place of every exchange."""
    return replace(s, events=tuple(change(e) if isinstance(e, Exchange) else e for e in s.events))


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
    """Yield the defects in the mixing matrix of gossip."""
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
    if "everyone" not in setting.takes:
        yield Defect(words="all clients compute, whoever is selected", given=_all_compute)
        if "peers" not in setting.takes:
            yield Defect(words="a sender that computed in no step of the round is not counted", given=_idle_uncounted)
    yield Defect(words="a local step in which nobody computes is skipped, its exchange too", given=_never_idle)


def _never_idle(s: Scenario) -> Scenario:
    return _each(s, lambda e: replace(e, computing=tuple(S for S in e.computing if S)))


def _all_compute(s: Scenario) -> Scenario:
    return _each(s, lambda e: replace(e, computing=tuple(tuple(range(e.mixing.shape[1])) for _ in e.computing)))


def _idle_uncounted(s: Scenario) -> Scenario:
    def change(e: Exchange) -> Exchange:
        busy = {i for S in e.computing for i in S}
        return replace(e, senders=tuple(i for i in e.senders if i in busy) or e.senders)

    return _each(s, change)
