"""FedNova with server momentum; hybrid momentum where the local solver has momentum too.

    clients as in FedNova
    P = - tau_eff sum_i p_i eta_l d_i,  tau_eff = sum_i p_i ||a_i||_1
    v = beta v + P
    x = x + v

Source: FedNova, L204 and L244, in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import fedspec.server.momentum as buffer
from fedspec.algorithms.fednova_momentum import FedNovaMomentum
from fedspec.readings import TauEff
from fedspec.server.momentum import ServerMomentum
from fedspec.server.nova_momentum import nova_momentum
from fedspec_torch.algorithms.local import local_solve
from fedspec_torch.arith import Stack, Stream, Vector, Weights, numbers
from fedspec_torch.mixing.accumulation import a_norm
from fedspec_torch.mixing.nova import effective_steps, general_change, normalised_gradient
from fedspec_torch.mixing.weighted import shares
from fedspec_torch.plan import Messages, Oracle

__all__ = ["FedNovaMomentum", "init", "local", "norm", "server"]


def init(h: FedNovaMomentum, x: Vector) -> ServerMomentum:
    """An empty buffer."""
    return buffer.init(x)


def local(h: FedNovaMomentum, x: Stack, gradient: Oracle, steps: Sequence[int]) -> Stack:
    """The local models after tau_i steps of the solver; the clients' buffers start each round at zero."""
    return local_solve(h.solver, x, gradient, steps, eta_l=h.eta_l, mu=h.mu, rho=h.rho, gamma=h.gamma)


def norm(h: FedNovaMomentum, steps: Sequence[int]) -> Weights:
    """||a_i||_1 of the solver."""
    return a_norm(h.solver, steps, alpha=h.eta_l * h.mu, rho=h.rho, gamma=h.gamma)


def server(h: FedNovaMomentum, state: ServerMomentum, messages: Messages) -> tuple[ServerMomentum, dict[str, Any]]:
    """FedNova's change into the buffer, the buffer into the model."""
    p = shares(messages.examples, state.x, h.weights)
    a = numbers(messages.a_norms, state.x)
    tau_eff = effective_steps(p, a, messages.steps, TauEff.WEIGHTED_NORM)
    delta = general_change(_normalised(h, messages, a), p, tau_eff=tau_eff, eta_l=h.eta_l)
    return nova_momentum(state, delta, **h.of(nova_momentum)), {"delta": delta, "tau_eff": tau_eff}


def _normalised(h: FedNovaMomentum, messages: Messages, a: Weights) -> Stream:
    end = 0
    for delta in messages.deltas:
        start, end = end, end + len(delta)
        yield normalised_gradient(delta, eta_l=h.eta_l, a_norm=a[start:end])
