"""Client texts for cross-client variance reduction, where a client's correction reads only its own row of d.

The specification's steps make c_i = sum_j p_j d_j - d_i of all clients at once, and show it: as many vectors again as
the clients keep. These texts are recorded as any client's is; tests hold each to the specification's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedspec.algorithms import fednova_alg2, fednova_vr
from fedspec.algorithms.local import local_norm, local_run
from fedspec.client.controlled import corrected_gradient
from fedspec.client.momentum import begin, momentum
from fedspec.mixing.accumulation import momentum_norm
from fedspec.mixing.control_variates import stored_direction
from fedspec.mixing.nova import normalised_gradient
from fedspec.population import Client
from fedspec.readings import Loop
from fedspec_torch.local.runs import Made


def fednova_vr_client(h: fednova_vr.FedNovaVR, state: fednova_vr.State) -> Client:
    """Make the client text of :func:`fedspec.algorithms.fednova_vr.step`."""
    mean: Any = state.p @ state.d

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        c_i, a_i = mean - state.d[i], local_norm(h, tau)
        x_i = local_run(h, x, lambda k, y: corrected_gradient(gradient(k, y), c_i), tau)
        return stored_direction(normalised_gradient(x_i - x, eta_l=h.eta_l, a_norm=a_i), c_i), a_i

    return client


def fednova_alg2_client(h: fednova_alg2.FedNovaAlg2, state: fednova_vr.State) -> Client:
    """Make the client text of :func:`fedspec.algorithms.fednova_alg2.step`."""
    mean: Any = state.p @ state.d

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        c_i, a_i, local = mean - state.d[i], momentum_norm(tau, rho=h.rho), begin(x)
        for k in range(tau if h.loop is Loop.SHIFTED else tau - 1):
            local = momentum(local, corrected_gradient(gradient(k, local.x), c_i), eta_l=h.eta_l, rho=h.rho)
        d_i = normalised_gradient(local.x - x, eta_l=h.eta_l, a_norm=a_i)
        return stored_direction(d_i, c_i, stored=h.stored), a_i

    return client


TEXTS: dict[Callable[..., Any], Made] = {
    fednova_vr.step: fednova_vr_client,
    fednova_alg2.step: fednova_alg2_client,
}
"""Function that makes the client text, by the step of its program."""
