"""FedProx as FedNova writes it: FedAvg whose clients take gradient steps on a proximal objective.

    for each participating client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l (g_i(x_i) + mu (x_i - x))
        Delta_i = x_i - x
    x = x + eta sum_i p_i Delta_i          (eta = 1)

Source: FedNova, eq. (7) and App. B, eq. (31); external: Li et al. (2020), whose clients solve the proximal
problem inexactly by any method.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedspec.algorithms.fedprox import FedProx
from fedspec.readings import Solver
from fedspec.server.average import average
from fedspec_torch.algorithms.local import local_solve
from fedspec_torch.algorithms.synchronous import aggregate
from fedspec_torch.arith import Stack, Vector, Weights
from fedspec_torch.mixing.accumulation import a_norm
from fedspec_torch.plan import Messages, Oracle

__all__ = ["FedProx", "init", "local", "norm", "server"]


def init(h: FedProx, x: Vector) -> Vector:
    """The server keeps its model and nothing else."""
    return x


def local(h: FedProx, x: Stack, gradient: Oracle, steps: Sequence[int]) -> Stack:
    """The local models after tau_i proximal steps; the anchor is the server's model for the whole round."""
    return local_solve(Solver.PROXIMAL, x, gradient, steps, eta_l=h.eta_l, mu=h.mu)


def norm(h: FedProx, steps: Sequence[int]) -> Weights:
    """||a_i||_1 of proximal SGD."""
    return a_norm(Solver.PROXIMAL, steps, alpha=h.eta_l * h.mu)


def server(h: FedProx, x: Vector, messages: Messages) -> tuple[Vector, dict[str, Any]]:
    """Average the changes and add them."""
    delta = aggregate(messages, h.weights, x)
    return average(x, delta, eta=h.eta), {"delta": delta}
