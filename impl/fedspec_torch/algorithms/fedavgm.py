"""FedAvgM: FedAvg with momentum on the server.

    Delta = sum_i p_i Delta_i              (clients as in FedAvg)
    v = beta v + Delta
    x = x + eta v

Source: FedNova, L204 and L244 (in words); external: Hsu, Qi and Brown (2019).
"""

from __future__ import annotations

from typing import Any

import fedspec.server.momentum as buffer
from fedspec.algorithms.fedavgm import FedAvgM
from fedspec.server.momentum import ServerMomentum, server_momentum
from fedspec_torch.algorithms.synchronous import aggregate
from fedspec_torch.arith import Vector
from fedspec_torch.plan import Messages

__all__ = ["FedAvgM", "init", "server"]


def init(h: FedAvgM, x: Vector) -> ServerMomentum:
    """An empty buffer."""
    return buffer.init(x)


def server(h: FedAvgM, state: ServerMomentum, messages: Messages) -> tuple[ServerMomentum, dict[str, Any]]:
    """Average the changes, feed the buffer, step."""
    delta = aggregate(messages, h.weights, state.x)
    return server_momentum(state, delta, eta=h.eta, beta=h.beta, momentum=h.momentum), {"delta": delta}
