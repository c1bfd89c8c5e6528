"""Exchanges under a restriction: who sends, who computes, and how they mix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.contract import Event, Exchange
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

Narrow = Callable[[st.DrawFn, Setting, Scenario], Scenario]

FOUR = {"clients": (4, 4), "everyone": True}
"""As many clients as divide exactly by their number, all of whom take part."""


def size(s: Scenario) -> int:
    """How many clients there are."""
    assert s.case.problem is not None
    return len(s.case.problem.H)


def exchanges(s: Scenario, f: Callable[[Exchange], Event]) -> Scenario:
    """The scenario with every exchange changed."""
    return replace(s, events=tuple(f(e) if isinstance(e, Exchange) else e for e in s.events))


def unmixed(e: Exchange) -> Exchange:
    """W = I."""
    return replace(e, mixing=np.eye(len(e.mixing), dtype=e.mixing.dtype))


def complete(e: Exchange) -> Exchange:
    """W = J, exact where the number of clients is a power of two."""
    return replace(e, mixing=np.full_like(e.mixing, 1 / len(e.mixing)))


def one_set(e: Exchange) -> Exchange:
    """S_(r,t) = S_r."""
    return replace(e, computing=(e.senders,) * len(e.computing))


def one_cluster(e: Exchange) -> Exchange:
    """K = 1."""
    return replace(e, clusters=(tuple(sorted(i for V in e.clusters for i in V)),))


def evened(e: Exchange) -> Exchange:
    """One sender in each cluster."""
    return replace(e, senders=tuple(next(i for i in e.senders if i in V) for V in e.clusters))


def embedded(e: Exchange, n: int) -> Exchange:
    """The matrix of the senders among all n clients, of whom the others talk to nobody."""
    W = np.eye(n, dtype=e.mixing.dtype)
    W[np.ix_(e.senders, e.senders)] = e.mixing
    return replace(e, mixing=W)


def halves(n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two clusters."""
    return tuple(range(n // 2)), tuple(range(n // 2, n))


def changed(*changes: Callable[[Exchange], Exchange]) -> Narrow:
    """The restriction that changes every exchange."""

    def narrow(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
        for change in changes:
            s = exchanges(s, change)
        return s

    return narrow
