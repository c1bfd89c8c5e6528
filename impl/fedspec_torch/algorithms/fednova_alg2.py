"""FedNova's Algorithm 2: momentum clients with cross-client variance reduction, everybody in every round.

    every client i:
        u = 0
        c_i = - d_i + sum_j p_j d_j            (d from the round before; 0 in the first)
        for k = 0..tau_i-1:
            u = rho u + g_i(x_i) + c_i
            x_i = x_i - eta_l u
        a_i = [tau_i - rho (1 - rho^tau_i) / (1 - rho)] / (1 - rho)
        d_i = (x - x_i) / (eta_l a_i)
    x = x - (sum_i p_i a_i) eta_l sum_i p_i d_i

Source: FedNova, Alg. 2 (L972-989); for its defects see ``fedspec.readings.Loop`` and ``Stored``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedspec.algorithms.fednova_alg2 import FedNovaAlg2
from fedspec.client.controlled import corrected_gradient
from fedspec.client.momentum import begin, momentum
from fedspec.readings import Loop, Solver, TauEff
from fedspec_torch.algorithms.fednova_vr import State, init
from fedspec_torch.algorithms.local import schedule
from fedspec_torch.arith import masked
from fedspec_torch.mixing.accumulation import a_norm
from fedspec_torch.mixing.control_variates import cross_client, stored_direction
from fedspec_torch.mixing.nova import effective_steps, general_update, normalised_gradient
from fedspec_torch.plan import Clients, Plan

__all__ = ["FedNovaAlg2", "State", "init", "step"]


def step(h: FedNovaAlg2, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round.

    Raises:
        PlanError: somebody does not take part.
    """
    steps = plan.steps_of_all(len(clients))
    a = a_norm(Solver.MOMENTUM, steps, rho=h.rho).to(state.x)
    c_i = cross_client(state.d, state.p)
    gradient = clients.oracle(range(len(clients)))
    x = state.x.repeat(len(clients), 1)
    local, first = begin(x), 0 if h.loop is Loop.SHIFTED else 1
    for k, active in schedule(steps, x.device):
        # As printed, one step fewer: the first k makes none, and gradients are counted from there.
        if k >= first:
            g = corrected_gradient(gradient(k - first, local.x), c_i)
            local = masked(momentum, active)(local, g, eta_l=h.eta_l, rho=h.rho)
    d = normalised_gradient(local.x - x, eta_l=h.eta_l, a_norm=a)
    tau_eff = effective_steps(state.p, a, steps, TauEff.WEIGHTED_NORM)
    after = general_update(state.x, d, state.p, tau_eff=tau_eff, eta_l=h.eta_l)
    return replace(state, x=after, d=stored_direction(d, c_i, stored=h.stored)), {"c_i": c_i, "tau_eff": tau_eff}
