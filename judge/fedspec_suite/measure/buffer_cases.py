"""Cases whose models carry buffers, and what a subject answers of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Buffers, ClientMessage, Event, Messages
from fedspec.errors import ContractError
from fedspec_suite.measure.case_parts import between, vectors
from fedspec_suite.measure.cases import server_scenarios
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

MEAN, VARIANCE, COUNTER = "running_mean", "running_var", "num_batches_tracked"
"""BatchNorm's buffers, by torch's names."""

MOST = 120
"""Batches that a client has seen at most."""

MANY = 100_000
"""Batches in far cases: a mean in float32 still counts them."""


def buffer_key(name: str) -> str:
    """Key of a buffer among the vectors of an answer."""
    return f"buffers.{name}"


def read(answer: Mapping[str, Any], held: Buffers) -> dict[str, Array]:
    """The buffers of an answer as flat vectors of the type in which they came.

    Raises:
        ContractError: one is missing, has another shape or is no array of numbers.
    """
    said = answer.get("buffers")
    if not isinstance(said, Mapping) or set(said) != set(held):
        got = list(said) if isinstance(said, Mapping) else said
        raise ContractError(f"buffers: got {got!r}; the case has buffers, so return {list(held)} under 'buffers'")
    out = {}
    for name, own in held.items():
        array = np.asarray(_numbers(said[name]))
        if array.dtype.kind not in "iuf" or array.shape != own.shape:
            raise ContractError(f"buffers: {name} has shape {array.shape} of {array.dtype}; return numbers {own.shape}")
        out[buffer_key(name)] = array.reshape(-1)
    return out


def _numbers(value: Any) -> Any:
    """The wire's words for numbers that are not finite as floats."""
    if isinstance(value, list | tuple):
        return [_numbers(v) for v in value]
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.get(value, value) if isinstance(value, str) else value


def draw_buffers(draw: st.DrawFn, d: int, dtype: str, most: int = MOST) -> dict[str, Array]:
    """Means and variances of so many features, and a number of batches."""
    return {
        MEAN: draw(vectors((d,), dtype)),
        VARIANCE: np.abs(draw(vectors((d,), dtype))),
        COUNTER: np.array(draw(between(0, most)), dtype="int64"),
    }


def far_buffers(rng: np.random.Generator, d: int, dtype: str, scale: float) -> dict[str, Array]:
    """Buffers of some magnitude, and more batches than 16 bits count."""
    return {
        MEAN: (rng.uniform(-3, 3, d) * scale).astype(dtype),
        VARIANCE: (rng.uniform(0, 3, d) * scale**2).astype(dtype),
        COUNTER: np.array(int(rng.integers(MANY)), dtype="int64"),
    }


@st.composite
def buffered_scenarios(
    draw: st.DrawFn, setting: Setting, rounds: tuple[int, int] = (1, 3), clients: tuple[int, int] | None = None
) -> Scenario:
    """Several rounds of messages, each with the buffers of its client."""
    s: Scenario = draw(server_scenarios(setting, rounds=rounds, clients=clients))
    d = draw(between(1, 3))
    held = draw_buffers(draw, d, setting.dtype)
    s = replace(s, case=replace(s.case, buffers=held))
    return sending_buffers(s, lambda m: draw_buffers(draw, d, setting.dtype))


def sending_buffers(s: Scenario, of: Callable[[ClientMessage], Buffers]) -> Scenario:
    """Replace the buffers in a scenario's messages."""
    return each_round(s, lambda sent: [replace(m, buffers=of(m)) for m in sent])


def each_round(s: Scenario, change: Callable[[Sequence[ClientMessage]], Sequence[ClientMessage]]) -> Scenario:
    """Replace the messages in each round of a scenario."""

    def event(e: Event) -> Event:
        assert isinstance(e, Messages)
        return replace(e, messages=tuple(change(e.messages)))

    return replace(s, events=tuple(map(event, s.events)))


def sent_in(s: Scenario) -> list[tuple[list[Buffers], list[Any]]]:
    """The buffers that are sent in each round, and their clients' examples."""
    out = []
    for e in s.events:
        assert isinstance(e, Messages)
        out.append(([m.buffers or {} for m in e.messages], [m.weight for m in e.messages]))
    return out
