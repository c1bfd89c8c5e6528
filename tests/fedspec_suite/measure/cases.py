"""Hypothesis strategies for scenarios: heterogeneous by design, every number a dyadic rational.

Dyadic inputs are exact in every floating-point type, so a deviation is never the input's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.catalogue import Program
from fedspec.contract import (
    Arrival,
    Begin,
    Case,
    ClientMessage,
    Event,
    Exchange,
    Gradient,
    Level,
    Messages,
    Quadratics,
    Round,
)
from fedspec.mixing.accumulation import a_norm
from fedspec.readings import Strategy
from fedspec_suite.measure.pools import draw_hypers, picking
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting


@cache
def _between(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


@cache
def vectors(shape: tuple[int, ...], dtype: str, denominator: int = 8, largest: int = 24) -> st.SearchStrategy[Array]:
    """Arrays of integers over a power of two, drawn a byte each: 0, 1, -1, 2, -2, ... so that they shrink to zero."""

    def decode(drawn: bytes) -> Array:
        n = np.frombuffer(drawn, dtype=np.uint8).astype(np.int64) % (2 * largest + 1)
        whole = np.where(n % 2 == 1, (n + 1) // 2, -(n // 2))
        return (whole / denominator).astype(dtype).reshape(shape)

    return st.binary(min_size=prod(shape), max_size=prod(shape)).map(decode)


_TENSORS = st.sampled_from([(3,), (2, 3), (3, 2), (2, 2, 2)])
_ARRAYS = st.sampled_from([(1,), (2,), (3,), (2, 2)])
_LAYERS = st.sampled_from([(1,), (2,), (2, 2)])
_MATRICES = st.sampled_from([(1, 2), (3, 1), (2, 2), (2, 3)])


def draw_shapes(draw: st.DrawFn, setting: Setting) -> dict[str, tuple[int, ...]]:
    """One to three blocks with names; tensors where the cover looks at axes, matrices where no others are taken."""
    tensors = "cover" in setting.options
    one: st.SearchStrategy[Any] = _MATRICES if setting.matrices else _TENSORS if tensors else _ARRAYS
    count = 1 if setting.one_block else draw(_between(1, 2 if tensors else 3))
    return {name: draw(one) for name in ("w", "b", "c")[:count]}


def draw_blocks(
    draw: st.DrawFn, shape: Mapping[str, tuple[int, ...]], dtype: str, denominator: int = 8, largest: int = 24
) -> dict[str, Array]:
    """A model's worth of arrays, in the order of the shapes."""
    return {n: draw(vectors(s, dtype, denominator, largest)) for n, s in shape.items()}


def draw_message_lists(
    draw: st.DrawFn,
    setting: Setting,
    shape: Mapping[str, tuple[int, ...]],
    clients: tuple[int, int] = (1, 4),
    largest: int = 24,
) -> Messages:
    """One round's messages: uneven weights, uneven steps."""
    n = draw(_between(*clients))
    out = []
    for i in range(n):
        steps = draw(_between(1, 6))
        a = steps if setting.steps_only else draw(_between(1, 24)) / 4
        delta = draw_blocks(draw, shape, setting.dtype, largest=largest)
        weight = draw(_between(1, 9))
        control = draw_blocks(draw, shape, setting.dtype) if setting.controls else None
        out.append(ClientMessage(i, delta, weight, steps, a, control))
    return Messages(tuple(out))


@st.composite
def server_scenarios(
    draw: st.DrawFn, setting: Setting, rounds: tuple[int, int] = (1, 5), clients: tuple[int, int] = (1, 4)
) -> Scenario:
    """Several rounds of messages."""
    shape = draw_shapes(draw, setting)
    x0 = draw_blocks(draw, shape, setting.dtype)
    h = draw_hypers(picking(draw), setting)
    count = draw(_between(*rounds))
    if setting.everyone:
        clients = (draw(_between(*clients)),) * 2
    events = tuple(draw_message_lists(draw, setting, shape, clients) for _ in range(count))
    N = None
    if setting.counts_all:
        # More than ever take part, so that laws may add some.
        N = clients[1] if setting.everyone else draw(_between(max(5, clients[1]), 9))
    return Scenario(case(setting, x0, h, population=N), events)


@st.composite
def client_scenarios(
    draw: st.DrawFn, setting: Setting, steps: tuple[int, int] = (1, 6), rounds: tuple[int, int] = (1, 2)
) -> Scenario:
    """One or two rounds of gradients; a new round begins at another model."""
    shape = draw_shapes(draw, setting)
    x0 = draw_blocks(draw, shape, setting.dtype)
    h = draw_hypers(picking(draw), setting)
    events: list[Event] = []
    for r in range(draw(_between(*rounds))):
        if r:
            events.append(Begin(draw_blocks(draw, shape, setting.dtype)))
        count = draw(_between(*steps))
        events.extend(Gradient(draw_blocks(draw, shape, setting.dtype)) for _ in range(count))
    return Scenario(case(setting, x0, h), tuple(events))


def draw_model(draw: st.DrawFn, setting: Setting, clients: int) -> tuple[dict[str, Array], int]:
    """The model of a case with a problem, and the problem's dimension: layers or rows where the algorithm has them."""
    if "layers" in setting.takes:
        count = 1 if setting.one_block else draw(_between(1, 2))
        layer = _MATRICES if setting.matrices else _LAYERS
        shape = {n: draw(layer) for n in ("w", "b")[:count]}
    else:
        shape = {"w": (draw(_between(1, 3)),)}
    d = sum(map(prod, shape.values()))
    if "peers" in setting.takes:
        row = draw(vectors((d,), setting.dtype))
        return {"w": np.tile(row, (clients, 1))}, d
    x0 = draw_blocks(draw, shape, setting.dtype)
    if "phi" in setting.options and draw(_between(0, 3)) == 3:
        # Where its length scales a layer's step, a layer at zero is a case of its own.
        x0 = {n: np.zeros_like(a) if n == "w" else a for n, a in x0.items()}
    return x0, d


def draw_rates(draw: st.DrawFn, setting: Setting) -> dict[str, float]:
    """Hyper-parameters with a client rate small enough for quadratics."""
    h = draw_hypers(picking(draw), setting)
    if "eta_l" in setting.numbers and "eta_l" not in setting.fixed:
        h["eta_l"] = draw(st.sampled_from((0.03125, 0.0625, 0.125)))
    return h


def draw_start(
    draw: st.DrawFn, setting: Setting, clients: int
) -> tuple[dict[str, Array], dict[str, float], Quadratics]:
    """A model, hyper-parameters and the quadratics of so many clients."""
    x0, d = draw_model(draw, setting, clients)
    return x0, draw_rates(draw, setting), draw_quadratics(draw, clients, d, setting.dtype)


def draw_some(draw: st.DrawFn, clients: int) -> tuple[int, ...]:
    """At least one of the clients, in order."""
    return tuple(sorted(draw(st.sets(st.integers(0, clients - 1), min_size=1))))


STRATEGIES = tuple(map(str, Strategy))
"""The local solvers that a blending algorithm chooses among."""


@st.composite
def round_scenarios(
    draw: st.DrawFn,
    setting: Setting,
    rounds: tuple[int, int] = (1, 3),
    clients: tuple[int, int] = (1, 4),
    everyone: bool = False,
) -> Scenario:
    """Quadratic clients, uneven examples, uneven steps, partial participation unless ``everyone``."""
    n = draw(_between(*clients))
    x0, h, problem = draw_start(draw, setting, n)
    events = []
    steps = tuple(draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    for _ in range(draw(_between(*rounds))):
        chosen = tuple(range(n)) if everyone or "everyone" in setting.takes else draw_some(draw, n)
        if "repeats" in setting.takes and not everyone and draw(st.booleans()):
            chosen = (*chosen, draw(st.sampled_from(chosen)))
        more: dict[str, Any] = {}
        if "strategies" in setting.takes:
            run = setting.algorithm.run
            kinds = st.sampled_from(run.strategies if isinstance(run, Program) else STRATEGIES)
            more["strategies"] = tuple(draw(kinds) for _ in chosen)
        if "scales" in setting.takes:
            more["scales"] = tuple(draw(st.sampled_from((0.5, 1.0, 2.0))) for _ in chosen)
        if "noise" in setting.takes:
            more["noise"] = tuple(draw(vectors(problem.e.shape[1:], "float64")).tolist())
        events.append(Round(chosen, tuple(steps[i] for i in chosen), **more))
    return Scenario(case(setting, x0, h, problem), tuple(events))


def draw_mixing(draw: st.DrawFn, n: int, dtype: str) -> Array:
    """A doubly stochastic matrix, exact and in general not symmetric: a dyadic mean of permutation matrices."""
    W = np.zeros((n, n))
    for weight in draw(st.sampled_from(((0.5, 0.25, 0.25), (0.75, 0.25)))):
        W += weight * np.eye(n)[list(draw(st.permutations(range(n))))]
    return W.astype(dtype)


def draw_clusters(draw: st.DrawFn, setting: Setting, n: int) -> tuple[tuple[int, ...], ...]:
    """One to three clusters of uneven sizes, their members anywhere; one of all where the algorithm has none."""
    if "clusters" not in setting.takes:
        return (tuple(range(n)),)
    ends = sorted(draw(st.sets(st.integers(1, n - 1), max_size=2))) if n > 1 else []
    order = tuple(draw(st.permutations(range(n))))
    return tuple(tuple(sorted(order[a:b])) for a, b in zip([0, *ends], [*ends, n], strict=True))


def draw_exchange(
    draw: st.DrawFn, setting: Setting, clusters: tuple[tuple[int, ...], ...], everyone: bool = False
) -> Exchange:
    """One round among peers: fresh subsets at every local step, equally many of each cluster, and a fresh matrix."""
    n, takes = sum(map(len, clusters)), setting.takes
    m = [len(V) if everyone or {"peers", "everyone"} & {*takes} else draw(_between(1, len(V))) for V in clusters]

    def some() -> tuple[int, ...]:
        # Cluster by cluster, which is also the order of the rows of W where only these mix.
        return tuple(i for V, m_k in zip(clusters, m, strict=True) for i in draw(st.permutations(V))[:m_k])

    senders, steps = some(), draw(_between(1, 3))
    fixed = "one-set" in takes or setting.options.get("sampling") == "round"
    computing = tuple(senders if fixed else some() for _ in range(steps))
    mixing = clusters
    if "senders" in takes:
        n, mixing = sum(m), tuple(tuple(range(sum(m[:k]), sum(m[: k + 1]))) for k in range(len(m)))
    W = np.zeros((n, n), dtype=setting.dtype)
    for rows in mixing:
        W[np.ix_(rows, rows)] = draw_mixing(draw, len(rows), setting.dtype)
    return Exchange(() if "peers" in takes else senders, computing, W, clusters if "clusters" in takes else ())


@st.composite
def exchange_scenarios(
    draw: st.DrawFn,
    setting: Setting,
    rounds: tuple[int, int] = (1, 3),
    clients: tuple[int, int] = (1, 4),
    everyone: bool = False,
) -> Scenario:
    """Quadratic clients that mix."""
    n = draw(_between(*clients)) + ("clusters" in setting.takes)
    clusters = draw_clusters(draw, setting, n)
    x0, h, problem = draw_start(draw, setting, n)
    events = tuple(draw_exchange(draw, setting, clusters, everyone) for _ in range(draw(_between(*rounds))))
    return Scenario(case(setting, x0, h, problem), events)


@st.composite
def arrival_scenarios(
    draw: st.DrawFn,
    setting: Setting,
    rounds: tuple[int, int] = (2, 9),
    clients: tuple[int, int] = (1, 4),
    everyone: bool = False,
) -> Scenario:
    """Quadratic clients whose updates arrive late; no delay reaches back before the first version."""
    n = draw(_between(*clients))
    x0, h, problem = draw_start(draw, setting, n)
    few, most = rounds
    # Long runs and long delays, in which a mistake about either shows, are drawn more often.
    count = draw(st.sampled_from((*range(few, most + 1), most, most)))
    return Scenario(case(setting, x0, h, problem), draw_arrivals(draw, n, count, h, 0 if everyone else 3))


def draw_arrivals(
    draw: st.DrawFn, clients: int, count: int, h: Mapping[str, float], longest: int, steps: int = 4
) -> tuple[Arrival, ...]:
    """So many arrivals, none later than the longest delay, none from before the first version."""
    buffer, events = int(h.get("buffer", 1)), []
    for k in range(count):
        oldest = min(k // buffer, longest)
        delay = draw(st.sampled_from((*range(oldest + 1), oldest))) if longest else 0
        events.append(Arrival(draw(_between(0, clients - 1)), draw(_between(1, steps)), delay))
    return tuple(events)


def trace_scenarios(setting: Setting, **kw: Any) -> st.SearchStrategy[Scenario]:
    """The scenarios of an algorithm at level trace."""
    assert isinstance(setting.algorithm.run, Program)
    kind = {"exchange": exchange_scenarios, "arrival": arrival_scenarios}[setting.algorithm.run.event]
    return kind(setting, **kw)


def draw_quadratics(draw: st.DrawFn, n: int, d: int, dtype: str) -> Quadratics:
    """H_i = A A' / 4 + I / 4 with small integer A: symmetric positive definite, exact."""
    H = []
    for _ in range(n):
        A = np.array(draw(st.lists(st.integers(-1, 2), min_size=d * d, max_size=d * d)), dtype=float).reshape(d, d)
        H.append((A @ A.T + np.eye(d)) / 4)
    e = draw(vectors((n, d), dtype))
    examples = np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), dtype=float)
    return Quadratics(np.array(H, dtype=dtype).reshape(n, d, d), e, examples)


def scenarios(setting: Setting, **kw: Any) -> st.SearchStrategy[Scenario]:
    """The scenarios of the setting's level."""
    kinds: dict[Level, Any] = {
        "client": client_scenarios,
        "server": server_scenarios,
        "round": round_scenarios,
        "trace": trace_scenarios,
    }
    drawn: st.SearchStrategy[Scenario] = kinds[setting.level](setting, **kw)
    return drawn


def case(
    setting: Setting,
    x0: Mapping[str, Array],
    h: Mapping[str, float],
    problem: Quadratics | None = None,
    population: int | None = None,
) -> Case:
    """The case of a setting."""
    return Case(
        algorithm=setting.algorithm.id,
        level=setting.level,
        reading=setting.reading,
        options=dict(setting.options),
        dtype=setting.dtype,
        x0=dict(x0),
        hyper=dict(h),
        problem=problem,
        variant=setting.variant,
        population=population,
    )


def norm_of(setting: Setting, h: Mapping[str, Any], tau: int) -> Any:
    """||a||_1 of the setting's local solver."""
    return a_norm(setting.solver, tau, alpha=h["eta_l"] * h.get("mu", 0), rho=h.get("rho", 0), gamma=h.get("gamma", 1))


blocks = st.composite(draw_blocks)
message_lists = st.composite(draw_message_lists)
quadratics = st.composite(draw_quadratics)
