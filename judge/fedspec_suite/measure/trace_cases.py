"""Hypothesis strategies for scenarios at level trace: peers that mix their models, and updates that arrive late."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.catalogue import Program
from fedspec.contract import Arrival, Exchange
from fedspec_suite.measure.case_parts import between, case, draw_start, subsets
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

_FEW = st.sampled_from(((0.5, 0.25, 0.25), (0.75, 0.25)))
_MANY = (*(2.0**-k for k in range(1, 12)), 2.0**-11), (2.0**-6,) * 64
"""The weights of permutations; with many of them some neighbours weigh little, or nearly all clients are neighbours."""

_SEEDS = st.integers(0, 2**32 - 1)


@cache
def orders(n: int) -> st.SearchStrategy[list[int]]:
    """Return the strategy of permutations of range(n), cached."""
    return st.permutations(range(n))


def draw_mixing(draw: st.DrawFn, n: int, dtype: str, many: bool = False) -> Array:
    """Draw an exact doubly stochastic matrix, in general not symmetric: a dyadic mean of permutation matrices.

    Args:
        draw: Hypothesis' function.
        n: number of clients.
        dtype: floating-point type.
        many: True: of many permutations, which come from one seed.
    """
    W, seed = np.zeros((n, n)), draw(_SEEDS) if many else 0
    rng = np.random.default_rng(seed)
    for weight in _MANY[seed % 2] if many else draw(_FEW):
        W += weight * np.eye(n)[rng.permutation(n) if many else list(draw(orders(n)))]
    return W.astype(dtype)


def draw_clusters(draw: st.DrawFn, setting: Setting, n: int) -> tuple[tuple[int, ...], ...]:
    """Draw one to three clusters of uneven sizes, in any order; a single cluster if the algorithm has none."""
    if "clusters" not in setting.takes:
        return (tuple(range(n)),)
    ends = sorted(draw(subsets(1, n - 1, 0, 2))) if n > 1 else []
    order = tuple(draw(orders(n)))
    return tuple(tuple(sorted(order[a:b])) for a, b in zip([0, *ends], [*ends, n], strict=True))


def draw_exchange(
    draw: st.DrawFn,
    setting: Setting,
    clusters: tuple[tuple[int, ...], ...],
    everyone: bool = False,
    many_neighbours: bool = False,
    steps: tuple[int, int] = (1, 3),
) -> Exchange:
    """Draw a round among peers: subsets for each local step, equally many per cluster, and a mixing matrix."""
    n, takes = sum(map(len, clusters)), setting.takes
    m = [len(V) if everyone or {"peers", "everyone"} & {*takes} else draw(between(1, len(V))) for V in clusters]

    def some() -> tuple[int, ...]:
        # Cluster by cluster, which is also the order of the rows of W where only these mix.
        return tuple(i for V, m_k in zip(clusters, m, strict=True) for i in draw(st.permutations(V))[:m_k])

    senders, count = some(), draw(between(*steps))
    fixed = "one-set" in takes or setting.options.get("sampling") == "round"
    computing = tuple(senders if fixed else some() for _ in range(count))
    mixing = clusters
    if "senders" in takes:
        n, mixing = sum(m), tuple(tuple(range(sum(m[:k]), sum(m[: k + 1]))) for k in range(len(m)))
    W = np.zeros((n, n), dtype=setting.dtype)
    for rows in mixing:
        W[np.ix_(rows, rows)] = draw_mixing(draw, len(rows), setting.dtype, many_neighbours)
    return Exchange(() if "peers" in takes else senders, computing, W, clusters if "clusters" in takes else ())


@st.composite
def exchange_scenarios(
    draw: st.DrawFn,
    setting: Setting,
    rounds: tuple[int, int] = (1, 3),
    clients: tuple[int, int] = (1, 4),
    everyone: bool = False,
) -> Scenario:
    """Draw scenarios of clients with quadratic objectives that mix their models."""
    n = draw(between(*clients)) + ("clusters" in setting.takes)
    clusters = draw_clusters(draw, setting, n)
    x0, h, problem = draw_start(draw, setting, n)
    events = tuple(draw_exchange(draw, setting, clusters, everyone) for _ in range(draw(between(*rounds))))
    return Scenario(case(setting, x0, h, problem), events)


@st.composite
def arrival_scenarios(
    draw: st.DrawFn,
    setting: Setting,
    rounds: tuple[int, int] = (2, 9),
    clients: tuple[int, int] = (1, 4),
    everyone: bool = False,
) -> Scenario:
    """Draw scenarios of clients whose updates arrive late; no delay reaches back before the first version."""
    n = draw(between(*clients))
    x0, h, problem = draw_start(draw, setting, n)
    few, most = rounds
    # Long runs and long delays, in which a mistake about either shows, are drawn more often.
    count = draw(st.sampled_from((*range(few, most + 1), most, most)))
    return Scenario(case(setting, x0, h, problem), draw_arrivals(draw, n, count, h, 0 if everyone else 3))


def draw_arrivals(
    draw: st.DrawFn, clients: int, count: int, h: Mapping[str, float], longest: int, steps: int = 4
) -> tuple[Arrival, ...]:
    """Draw ``count`` arrivals; no delay exceeds ``longest`` or reaches back before the first version."""
    buffer, events = int(h.get("buffer", 1)), []
    for k in range(count):
        oldest = min(k // buffer, longest)
        delay = draw(st.sampled_from((*range(oldest + 1), oldest))) if longest else 0
        events.append(Arrival(draw(between(0, clients - 1)), draw(between(1, steps)), delay))
    return tuple(events)


def trace_scenarios(setting: Setting, **kw: Any) -> st.SearchStrategy[Scenario]:
    """Return the strategy of scenarios of an algorithm at level trace."""
    assert isinstance(setting.algorithm.run, Program)
    kind = {"exchange": exchange_scenarios, "arrival": arrival_scenarios}[setting.algorithm.run.event]
    return kind(setting, **kw)
