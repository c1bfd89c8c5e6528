"""FedDyn: clients add a linear term that makes the minima of their objectives agree.

    for each participating client i:
        y_i = argmin of F_i(y) - lam_i' y + mu/2 |y - x|^2, approached by gradient descent:
            y_i = x;  tau_i times: y_i = y_i - eta_l (g_i(y_i) - lam_i + mu (y_i - x))
        lam_i = lam_i - mu (y_i - x)
    h = h - mu 1/N sum over S of (y_i - x)
    x = 1/|S| sum over S of y_i - h / mu

External: Acar et al. (2021), Algorithm 1, where mu is called alpha and lam_i is grad L_i(theta_i); a baseline of AFGA,
which does not define it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from fedspec.algorithms.feddyn import FedDyn
from fedspec.client.controlled import dynamic_sgd
from fedspec.plan import Setup
from fedspec_torch.algorithms.local import schedule
from fedspec_torch.arith import Stack, Vector, masked
from fedspec_torch.mixing.duals import client_dual, dynamic_average, server_dual
from fedspec_torch.plan import Clients, Plan

__all__ = ["FedDyn", "init", "step"]


@dataclass(frozen=True)
class State:
    """The server's model and dual variable, and the dual variable that each client keeps."""

    x: Vector
    h: Vector
    lam_i: Stack


def init(h: FedDyn, x: Vector, setup: Setup) -> State:
    """All dual variables at zero."""
    return State(x=x, h=torch.zeros_like(x), lam_i=x.new_zeros(setup.clients, len(x)))


def step(h: FedDyn, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round."""
    who = list(plan.participants)
    x, lam = state.x.repeat(len(who), 1), state.lam_i[who]
    gradient = clients.oracle(who)
    y = x
    for k, active in schedule(plan.steps, x.device):
        y = masked(dynamic_sgd, active)(y, gradient(k, y), lam, x, eta_l=h.eta_l, mu=h.mu)
    lam_i = state.lam_i.clone()
    lam_i[who] = client_dual(lam, y - x, mu=h.mu)
    dual = server_dual(state.h, y - x, mu=h.mu, clients=len(lam_i))
    return State(x=dynamic_average(y, dual, mu=h.mu), h=dual, lam_i=lam_i), {"lam_i": lam_i, "h": dual}
