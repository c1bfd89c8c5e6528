"""The synchronous round that all algorithms of this folder share: local work, messages, one server step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec.arith import Scalar, Stack, Vector, Weights, numbers
from fedspec.errors import PlanError
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Message, Oracle, Plan
from fedspec.readings import Weighting


@dataclass(frozen=True)
class Trace:
    """What a round returns: the new state, the messages it came from and the intermediates by the paper's names."""

    state: Any
    messages: tuple[Message, ...]
    values: dict[str, Any]


def run_round(
    h: Any,
    state: Any,
    clients: Sequence[Oracle],
    plan: Plan,
    *,
    local: Callable[[Any, Vector, Oracle, int], Vector],
    norm: Callable[[Any, int], Scalar],
    server: Callable[[Any, Any, Sequence[Message]], tuple[Any, dict[str, Any]]],
) -> Trace:
    """One round.

        for i in S:  x_i = local(x, tau_i);  Delta_i = x_i - x
        x = server(Delta_i, n_i, tau_i, ||a_i||_1 : i in S)

    Raises:
        PlanError: the plan names a client that does not exist.
    """
    plan.check_clients(clients)
    x = model(state)
    messages = tuple(
        Message(
            delta=local(h, x, clients[i], tau) - x,
            examples=n,
            steps=tau,
            a_norm=norm(h, tau),
        )
        for i, tau, n in zip(plan.participants, plan.steps, plan.examples, strict=True)
    )
    state, values = server(h, state, messages)
    return Trace(state=state, messages=messages, values=values)


def model(state: Any) -> Vector:
    """The global model inside a server state (a state that is only a model is that vector)."""
    return state if isinstance(state, np.ndarray) else state.x


def aggregate(messages: Sequence[Message], weights: Weighting) -> Vector:
    """Delta = sum_i p_i Delta_i over the messages of a round."""
    p, deltas = stacked(messages, weights)
    return weighted_mean(deltas, p)


def stacked(messages: Sequence[Message], weights: Weighting) -> tuple[Weights, Stack]:
    """The weights p_i and the changes Delta_i of a round's messages.

    Raises:
        PlanError: there is no message.
    """
    if not messages:
        raise PlanError("messages: nobody takes part in this round; a server step needs at least one client")
    deltas = np.stack([m.delta for m in messages])
    return shares([m.examples for m in messages], deltas[0], weights), deltas


def a_norms(messages: Sequence[Message], like: Vector) -> Weights:
    """The ||a_i||_1 of a round's messages as a vector."""
    return numbers([m.a_norm for m in messages], like)
