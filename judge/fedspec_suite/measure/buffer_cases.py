"""Cases whose models carry buffers such as BatchNorm statistics, and the buffers in a subject's answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Buffers, ClientMessage, Messages
from fedspec.errors import ContractError
from fedspec_suite.measure.case_parts import between, vectors
from fedspec_suite.measure.cases import server_scenarios
from fedspec_suite.measure.scenario import Scenario, with_sent
from fedspec_suite.measure.setting import Setting

MEAN, VARIANCE, COUNTER = "running_mean", "running_var", "num_batches_tracked"
"""Names of BatchNorm's buffers in torch."""

MOST = 120
"""Largest number of batches that a client has seen in a small case."""

MANY = 100_000
"""Upper bound of the number of batches in far cases; float32 still counts them exactly."""


def buffer_key(name: str) -> str:
    """Return the key of a buffer among the vectors of an answer."""
    return f"buffers.{name}"


def read(answer: Mapping[str, Any], held: Buffers) -> dict[str, Array]:
    """Return the buffers of an answer as flat vectors, each in the dtype that the subject returned.

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
    """Draw means and variances of ``d`` features, and a number of batches up to ``most``."""
    return {
        MEAN: draw(vectors((d,), dtype)),
        VARIANCE: np.abs(draw(vectors((d,), dtype))),
        COUNTER: np.array(draw(between(0, most)), dtype="int64"),
    }


def far_buffers(rng: np.random.Generator, d: int, dtype: str, scale: float) -> dict[str, Array]:
    """Draw buffers of magnitude ``scale``, with a number of batches below ``MANY``, which may exceed 16 bits."""
    return {
        MEAN: (rng.uniform(-3, 3, d) * scale).astype(dtype),
        VARIANCE: (rng.uniform(0, 3, d) * scale**2).astype(dtype),
        COUNTER: np.array(int(rng.integers(MANY)), dtype="int64"),
    }


@st.composite
def buffered_scenarios(
    draw: st.DrawFn, setting: Setting, rounds: tuple[int, int] = (1, 3), clients: tuple[int, int] | None = None
) -> Scenario:
    """Draw several rounds of messages, each message with the buffers of its client."""
    s: Scenario = draw(server_scenarios(setting, rounds=rounds, clients=clients))
    d = draw(between(1, 3))
    held = draw_buffers(draw, d, setting.dtype)
    s = replace(s, case=replace(s.case, buffers=held))
    return sending_buffers(s, lambda m: draw_buffers(draw, d, setting.dtype))


def sending_buffers(s: Scenario, of: Callable[[ClientMessage], Buffers]) -> Scenario:
    """Replace the buffers in each message of a scenario by ``of`` of the message."""
    return with_sent(s, lambda m: replace(m, buffers=of(m)))


def sent_in(s: Scenario) -> list[tuple[list[Buffers], list[Any]]]:
    """List, for each round, the buffers that the clients send and the clients' numbers of examples."""
    out = []
    for e in s.events:
        assert isinstance(e, Messages)
        out.append(([m.buffers or {} for m in e.messages], [m.weight for m in e.messages]))
    return out
