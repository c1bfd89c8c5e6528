"""FedAvg.

    for each participating client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i)
        Delta_i = x_i - x
    Delta = sum_i p_i Delta_i
    x = x + eta Delta                      (eta = 1)

Source: FedNova, eq. (2) (L52); external: McMahan et al. (2017).
"""

from __future__ import annotations

from typing import Any

from fedspec.algorithms.fedavg import FedAvg
from fedspec.server.average import average
from fedspec_torch.algorithms.synchronous import aggregate
from fedspec_torch.arith import Vector
from fedspec_torch.plan import Messages

__all__ = ["FedAvg", "init", "server"]


def init(h: FedAvg, x: Vector) -> Vector:
    """The server keeps its model and nothing else."""
    return x


def server(h: FedAvg, x: Vector, messages: Messages) -> tuple[Vector, dict[str, Any]]:
    """Average the changes and add them."""
    delta = aggregate(messages, h.weights, x)
    return average(x, delta, eta=h.eta), {"delta": delta}
