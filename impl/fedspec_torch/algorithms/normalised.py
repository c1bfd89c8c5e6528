"""FedAvg whose clients take steps of bounded length, block by block over the participants of a round.

    for each participating client i (a multiset):
        x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i) / (||g_i(x_i)|| + eps)
        Delta_i = x_i - x
    x = x + 1/|S| sum_i Delta_i

Source: FedAda2, App. A, eq. (2) (L377).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.normalised import FedAvgNormalised
from fedspec.client.normalised import normalised_sgd
from fedspec.plan import Setup
from fedspec.server.average import average
from fedspec_torch.algorithms.joint import changes
from fedspec_torch.algorithms.local import schedule
from fedspec_torch.arith import Stack, Vector, masked
from fedspec_torch.mixing.weighted import shares, weighted_mean
from fedspec_torch.plan import Clients, Plan

__all__ = ["FedAvgNormalised", "State", "init", "step"]


@dataclass(frozen=True)
class State:
    """The server's model."""

    x: Vector


def init(h: FedAvgNormalised, x: Vector, setup: Setup) -> State:
    """The server keeps its model and nothing else."""
    return State(x)


def step(h: FedAvgNormalised, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round."""

    def train(x: Stack, part: Plan) -> Stack:
        gradient = clients.oracle(part.participants)
        for k, active in schedule(part.steps, x.device):
            x = masked(normalised_sgd, active)(x, gradient(k, x), eta_l=h.eta_l, eps=h.eps)
        return x

    p = shares([1] * len(plan.participants), state.x)
    delta = weighted_mean(changes(state.x, plan, train), p)
    return State(average(state.x, delta)), {"delta": delta}
