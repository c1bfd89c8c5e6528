"""VRL-SGD: local SGD whose clients subtract how far each drifts from the mean, everybody in every round.

    every client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l (g_i(x_i) - v_i)
    x = sum_i p_i x_i
    every client i:  v_i = v_i + (x - x_i) / (eta_l tau_i)

External: Liang et al. (2019), Algorithm 1, with p_i = 1/N and one tau for everybody. FedNova (L78) runs it with tau_i
for tau.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec.algorithms.vrl_sgd import VrlSgd
from fedspec.client.controlled import drift_free_sgd
from fedspec.plan import Setup
from fedspec.server.average import average
from fedspec_torch.algorithms.local import schedule
from fedspec_torch.arith import Stack, Vector, Weights, masked
from fedspec_torch.mixing.control_variates import drift_controls
from fedspec_torch.mixing.weighted import shares, weighted_mean
from fedspec_torch.plan import Clients, Plan

__all__ = ["VrlSgd", "init", "step"]


@dataclass(frozen=True)
class State:
    """The server's model, what each client subtracts from its gradients, and the clients' shares."""

    x: Vector
    v_i: Stack
    p: Weights


def init(h: VrlSgd, x: Vector, setup: Setup) -> State:
    """Nothing is subtracted in the first round."""
    return State(x=x, v_i=x.new_zeros(setup.clients, len(x)), p=shares(setup.examples, x, h.weights))


def step(h: VrlSgd, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round.

    Raises:
        PlanError: somebody does not take part.
    """
    steps = plan.steps_of_all(len(clients))
    gradient = clients.oracle(range(len(clients)))
    x = state.x.repeat(len(clients), 1)
    X = x
    for k, active in schedule(steps, x.device):
        X = masked(drift_free_sgd, active)(X, gradient(k, X), state.v_i, eta_l=h.eta_l)
    delta = weighted_mean(X - x, state.p)
    after = average(state.x, delta, eta=1)
    v_i = drift_controls(state.v_i, X, after, steps=steps, eta_l=h.eta_l, divisor=h.divisor)
    return replace(state, x=after, v_i=v_i), {"delta": delta, "v_i": v_i}
