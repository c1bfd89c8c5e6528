"""Exchanges under a restriction: who sends, who computes, and how they mix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fedspec.contract import Exchange
from fedspec_properties.reductions.edge import Change
from fedspec_suite.measure.scenario import Scenario, problem_of

FOUR: dict[str, Any] = {"clients": (4, 4), "everyone": True}
"""As many clients as divide exactly by their number, all of whom take part."""


def size(s: Scenario) -> int:
    """How many clients there are."""
    return len(problem_of(s).H)


def exchanges(s: Scenario, *changes: Callable[[Exchange], Exchange]) -> Scenario:
    """The scenario with every exchange changed, by each of these after the one before."""
    for f in changes:
        s = replace(s, events=tuple(f(e) if isinstance(e, Exchange) else e for e in s.events))
    return s


def each(*changes: Callable[[Exchange], Exchange]) -> Change:
    """The change of a scenario that changes its every exchange."""
    return lambda s: exchanges(s, *changes)


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


def halves(n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two clusters."""
    return tuple(range(n // 2)), tuple(range(n // 2, n))
