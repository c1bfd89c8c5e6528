"""What the tests of late clients share: algorithms run on plans, and plain clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fedspec.arith import Array
from fedspec.catalogue import CATALOGUE, Program
from fedspec.plan import Arrival, Oracle, Setup

Trace = Iterator[tuple[Array, dict[str, Any]]]


def trace(name: str, h: dict[str, Any], x: Array, clients: Sequence[Oracle], plan: Sequence[Arrival]) -> Trace:
    """The model and what is shown, after each arrival."""
    run = CATALOGUE[name].run
    assert isinstance(run, Program)
    record = run.hyper(**h)
    state = run.init(record, x, Setup((1,) * len(clients), {"w": x.shape}))
    for arrival in plan:
        state, shown = run.step(record, state, clients, arrival)
        yield state.x, shown


def end(name: str, h: dict[str, Any], x: Array, clients: Sequence[Oracle], plan: Sequence[Arrival]) -> Array:
    """The last model."""
    *_, (last, _) = trace(name, h, x, clients, plan)
    return last


def full(buffers: int, arrivals: Sequence[Arrival]) -> list[Arrival]:
    """The same buffer again and again, delays as far as there are versions."""
    return [Arrival(a.client, a.steps, min(a.delay, t)) for t in range(buffers) for a in arrivals]


def pulls(h: Sequence[Any], c: Sequence[Any]) -> list[Oracle]:
    """Clients with f_i(x) = h_i (x - c_i)^2 / 2."""
    return [lambda k, x, h=h_i, c=c_i: h * (x - c) for h_i, c_i in zip(h, c, strict=True)]


TWO = pulls((1, 1), (-1, 2))
STEPS = (2, 5)
"""Two clients and their numbers of steps, for which the limits are known."""


def root_of(f: Callable[[float], float], low: float, high: float) -> float:
    """A root by halving."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if f(low) * f(middle) > 0 else (low, middle)
    return (low + high) / 2
