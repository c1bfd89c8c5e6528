"""Federated averaging and adaptive servers under client-level differential privacy, all participants at once.

    for each participating client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i)
        Delta_i = min(1, c / ||x_i - x||) (x_i - x)
    Delta = 1/|S| (sum_i Delta_i + sigma c z)      (z: d standard normal draws, part of the plan)
    server: average, AdaGrad or Adam

Source: FedAda2, sec. 5 (L206) and App. H.1 (L1639), which leave the mechanism to the reader; external: McMahan et al.
(2018).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedspec.algorithms.private import DpFedAvg
from fedspec.errors import PlanError
from fedspec.plan import Setup
from fedspec.readings import PrivateServer
from fedspec.server.adagrad import Adaptive, general_adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import general_adam
from fedspec.server.average import average
from fedspec_torch.algorithms.local import local_sgd
from fedspec_torch.arith import Vector, numbers
from fedspec_torch.mixing.private import clip, noisy_mean
from fedspec_torch.plan import Clients, Plan

__all__ = ["DpFedAvg", "init", "step"]


def init(h: DpFedAvg, x: Vector, setup: Setup) -> Adaptive:
    """No momentum; second moment v_0."""
    return init_adaptive(x, v0=h.v0)


def step(h: DpFedAvg, state: Adaptive, clients: Clients, plan: Plan) -> tuple[Adaptive, dict[str, Any]]:
    """One round.

    Raises:
        PlanError: the plan does not bring one draw of noise for each coordinate.
    """
    x = state.x
    if len(plan.noise) != len(x):
        raise PlanError(f"noise: {len(plan.noise)} draws for {len(x)} coordinates; give one standard normal draw each")
    start = x.repeat(len(plan.participants), 1)
    deltas = clip(local_sgd(h, start, clients.oracle(plan.participants), plan.steps) - start, clip_norm=h.clip_norm)
    delta = noisy_mean(deltas, numbers(plan.noise, x), clip_norm=h.clip_norm, sigma=h.sigma)
    match h.server:
        case PrivateServer.AVERAGE:
            state = replace(state, x=average(x, delta, eta=h.eta), t=state.t + 1)
        case PrivateServer.ADAGRAD:
            state = general_adagrad(state, delta, **h.of(general_adagrad))
        case PrivateServer.ADAM:
            state = general_adam(state, delta, **h.of(general_adam))
    return state, {"delta": delta}
