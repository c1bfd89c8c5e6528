"""FedNova with cross-client variance reduction, everybody in every round.

    every client i:
        c_i = sum_j p_j d_j - d_i              (d from the round before; 0 in the first)
        x_i = x;  tau_i local steps of a solver with accumulation vector a_i, on g_i + c_i instead of g_i
        d_i = (x - x_i) / (eta_l ||a_i||_1) - c_i
    tau_eff = sum_i p_i ||a_i||_1
    x = x - tau_eff sum_i p_i eta_l d_i

Source: FedNova, L204 with eq. (12).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec.algorithms.fednova_vr import FedNovaVR
from fedspec.client.controlled import corrected_gradient
from fedspec.plan import Setup
from fedspec.readings import TauEff
from fedspec_torch.algorithms.local import local_solve
from fedspec_torch.arith import Stack, Vector, Weights
from fedspec_torch.mixing.accumulation import a_norm
from fedspec_torch.mixing.control_variates import cross_client, stored_direction
from fedspec_torch.mixing.nova import effective_steps, general_update, normalised_gradient
from fedspec_torch.mixing.weighted import shares
from fedspec_torch.plan import Clients, Plan

__all__ = ["FedNovaVR", "State", "init", "step"]


@dataclass(frozen=True)
class State:
    """The server's model, the direction that each client keeps, and the clients' shares."""

    x: Vector
    d: Stack
    p: Weights


def init(h: Any, x: Vector, setup: Setup) -> State:
    """No direction yet: the first round is not corrected."""
    return State(x=x, d=x.new_zeros(setup.clients, len(x)), p=shares(setup.examples, x, h.weights))


def step(h: FedNovaVR, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round.

    Raises:
        PlanError: somebody does not take part.
    """
    steps = plan.steps_of_all(len(clients))
    a = a_norm(h.solver, steps, alpha=h.eta_l * h.mu, rho=h.rho, gamma=h.gamma).to(state.x)
    c_i = cross_client(state.d, state.p)
    gradient = clients.oracle(range(len(clients)))
    x = state.x.repeat(len(clients), 1)

    def corrected(k: int, y: Stack) -> Stack:
        return corrected_gradient(gradient(k, y), c_i)

    y = local_solve(h.solver, x, corrected, steps, eta_l=h.eta_l, mu=h.mu, rho=h.rho, gamma=h.gamma)
    d = stored_direction(normalised_gradient(y - x, eta_l=h.eta_l, a_norm=a), c_i)
    tau_eff = effective_steps(state.p, a, steps, TauEff.WEIGHTED_NORM)
    after = general_update(state.x, d, state.p, tau_eff=tau_eff, eta_l=h.eta_l)
    return replace(state, x=after, d=d), {"c_i": c_i, "tau_eff": tau_eff}
