"""Transforms of rounds and exchanges that impose a restriction, and constructors of edges that use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Arrival, Exchange, Round
from fedspec_properties.reductions.edge import Change, Edge, reduces
from fedspec_suite.measure.scenario import Scenario, problem_of
from fedspec_suite.measure.setting import Setting

in_rounds = partial(reduces, levels=("round",))
"""Return an edge at level round that does not hold for a server alone."""

ALONE: dict[str, Any] = {"clients": (1, 1)}
"""Keyword arguments that draw cases with one client."""


def plans(s: Scenario, **columns: Any) -> Scenario:
    """Replace fields of every round, each by a function of the round."""
    events = (replace(e, **{n: of(e) for n, of in columns.items()}) if isinstance(e, Round) else e for e in s.events)
    return replace(s, events=tuple(events))


def equal_steps(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Draw one number of steps for all clients of each round."""
    return plans(s, steps=lambda e: (draw(st.integers(1, 4)),) * len(e.steps))


def single_steps(s: Scenario) -> Scenario:
    """Set every client's number of steps to 1."""
    return plans(s, steps=lambda e: (1,) * len(e.steps))


def in_groups(s: Scenario, size: int) -> Scenario:
    """Group every ``size`` arrivals into a round of their clients."""
    arrivals = [e for e in s.events if isinstance(e, Arrival)]
    groups = [arrivals[k : k + size] for k in range(0, len(arrivals), size)]
    rounds = (Round(tuple(a.client for a in group), tuple(a.steps for a in group)) for group in groups)
    return replace(s, events=tuple(rounds))


def begins(source: str, target: str, cited: str, so: str = "", roots: bool = False, **named: Any) -> Edge:
    """Return an edge that holds in the first round, before the source has any memory."""
    edge = reduces(source, target, cited, levels=("round",), roots=roots).named(f"{source}-begins-as-{target}")
    return edge.under(f"it is the first round{so}", rounds=(1, 1), **named)


def alone(source: str, target: str, cited: str, so: str = "", **named: Any) -> Edge:
    """Return an edge that holds in cases with one client."""
    edge = reduces(source, target, cited, levels=CATALOGUE[source].levels[-1:]).named(f"{source}-alone-is-{target}")
    return edge.under(f"there is one client{so}", **ALONE, **named)


FOUR: dict[str, Any] = {"clients": (4, 4), "everyone": True}
"""Keyword arguments that draw cases with four clients, all of which take part, so that means are exact."""


def size(s: Scenario) -> int:
    """Return the number of clients."""
    return len(problem_of(s).H)


def exchanges(s: Scenario, *changes: Callable[[Exchange], Exchange]) -> Scenario:
    """Apply functions, one after another, to each exchange of a scenario."""
    for f in changes:
        s = replace(s, events=tuple(f(e) if isinstance(e, Exchange) else e for e in s.events))
    return s


def each(*changes: Callable[[Exchange], Exchange]) -> Change:
    """Return the scenario transform that applies the functions to each exchange."""
    return lambda s: exchanges(s, *changes)


def unmixed(e: Exchange) -> Exchange:
    """Set the mixing matrix to W = I."""
    return replace(e, mixing=np.eye(len(e.mixing), dtype=e.mixing.dtype))


def complete(e: Exchange) -> Exchange:
    """Set every entry of the mixing matrix to 1/n, W = J; exact if the number of clients n is a power of two."""
    return replace(e, mixing=np.full_like(e.mixing, 1 / len(e.mixing)))


def one_set(e: Exchange) -> Exchange:
    """Let the senders compute in every local step: S_(r,t) = S_r."""
    return replace(e, computing=(e.senders,) * len(e.computing))


def one_cluster(e: Exchange) -> Exchange:
    """Merge all clusters into one: K = 1."""
    return replace(e, clusters=(tuple(sorted(i for V in e.clusters for i in V)),))


def evened(e: Exchange) -> Exchange:
    """Keep a single sender in each cluster."""
    return replace(e, senders=tuple(next(i for i in e.senders if i in V) for V in e.clusters))


def halves(n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split n clients into two clusters."""
    return tuple(range(n // 2)), tuple(range(n // 2, n))
