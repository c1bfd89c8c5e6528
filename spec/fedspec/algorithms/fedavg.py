"""FedAvg.

    for each participating client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i)
        Delta_i = x_i - x
    Delta = sum_i p_i Delta_i
    x = x + eta Delta                      (eta = 1)

Source: FedNova, eq. (2) (L52); external: McMahan et al. (2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.hyper import Hyper
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector
from fedspec.plan import Message
from fedspec.readings import Weighting
from fedspec.server.average import average


@dataclass(frozen=True)
class FedAvg(Hyper):
    """Hyper-parameters of FedAvg."""

    eta_l: Scalar
    eta: Scalar = 1
    weights: Weighting = Weighting.EXAMPLES


def init(h: FedAvg, x: Vector) -> Vector:
    """The server keeps its model and nothing else."""
    return x


def server(h: FedAvg, x: Vector, messages: Sequence[Message]) -> tuple[Vector, dict[str, Any]]:
    """Average the changes and add them."""
    delta = aggregate(messages, h.weights)
    return average(x, delta, eta=h.eta), {"delta": delta}
