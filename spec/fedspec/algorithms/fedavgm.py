"""FedAvgM: FedAvg with momentum on the server.

    Delta = sum_i p_i Delta_i              (clients as in FedAvg)
    v = beta v + Delta
    x = x + eta v

Source: FedNova, L204 and L244 (in words); external: Hsu, Qi and Brown (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.hyper import Hyper
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector
from fedspec.plan import Message
from fedspec.readings import MomentumForm, Weighting
from fedspec.server.momentum import ServerMomentum, server_momentum
from fedspec.server.momentum import init as init_momentum


@dataclass(frozen=True)
class FedAvgM(Hyper):
    """Hyper-parameters and readings of FedAvgM."""

    eta_l: Scalar
    eta: Scalar
    beta: Scalar
    momentum: MomentumForm = MomentumForm.HEAVY_BALL
    weights: Weighting = Weighting.EXAMPLES


def init(h: FedAvgM, x: Vector) -> ServerMomentum:
    """An empty buffer."""
    return init_momentum(x)


def server(h: FedAvgM, state: ServerMomentum, messages: Sequence[Message]) -> tuple[ServerMomentum, dict[str, Any]]:
    """Average the changes, feed the buffer, step."""
    delta = aggregate(messages, h.weights)
    return server_momentum(state, delta, **h.of(server_momentum)), {"delta": delta}
