"""FedNova: average normalised changes, then take a step of effective length tau_eff.

    for each participating client i:
        x_i = x;  tau_i local steps of a solver with accumulation vector a_i
        d_i = (x - x_i) / (eta_l ||a_i||_1)
    tau_eff = sum_i p_i ||a_i||_1
    x = x - tau_eff sum_i w_i eta_l d_i    (w_i = p_i)

Source: FedNova, eqs. (4) and (12) (L198).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedspec.algorithms.fednova import FedNova
from fedspec_torch.algorithms.local import local_solve
from fedspec_torch.arith import Stack, Stream, Vector, Weights, numbers
from fedspec_torch.mixing.accumulation import a_norm
from fedspec_torch.mixing.nova import effective_steps, general_update, general_weights, normalised_gradient
from fedspec_torch.mixing.weighted import shares
from fedspec_torch.plan import Messages, Oracle

__all__ = ["FedNova", "init", "local", "norm", "server"]


def init(h: FedNova, x: Vector) -> Vector:
    """The server keeps its model and nothing else."""
    return x


def local(h: FedNova, x: Stack, gradient: Oracle, steps: Sequence[int]) -> Stack:
    """The local models after tau_i steps of the solver."""
    return local_solve(h.solver, x, gradient, steps, eta_l=h.eta_l, mu=h.mu, rho=h.rho, gamma=h.gamma)


def norm(h: FedNova, steps: Sequence[int]) -> Weights:
    """||a_i||_1 of the solver."""
    return a_norm(h.solver, steps, alpha=h.eta_l * h.mu, rho=h.rho, gamma=h.gamma)


def server(h: FedNova, x: Vector, messages: Messages) -> tuple[Vector, dict[str, Any]]:
    """Normalise each change by its own ||a_i||_1, average, and step by tau_eff."""
    p = shares(messages.examples, x, h.weights)
    a = numbers(messages.a_norms, x)
    w = general_weights(p, a, h.nova_weights)
    tau_eff = effective_steps(p, a, messages.steps, h.tau_eff_choice, h.tau_eff)
    x = general_update(x, _normalised(h, messages, a), w, tau_eff=tau_eff, eta_l=h.eta_l)
    return x, {"tau_eff": tau_eff, "w": w}


def _normalised(h: FedNova, messages: Messages, a: Weights) -> Stream:
    end = 0
    for delta in messages.deltas:
        start, end = end, end + len(delta)
        yield normalised_gradient(delta, eta_l=h.eta_l, a_norm=a[start:end])
