"""SCAFFOLD, all participants of a round at once.

    for each participating client i:
        y = x;  tau_i times: y = y - eta_l (g_i(y) - c_i + c)
        Delta_i = y - x
        c_i^+ = c_i - c - Delta_i / (eta_l tau_i)      (option I: g_i(x))
    x = x + eta sum_i w_i Delta_i
    c = c + sum_i p_i (c_i^+ - c_i)

with w_i the mean over the participants and p_i the mean over all N clients: w_i = 1/|S| and p_i = 1/N as published.
External: Karimireddy et al. (2020), Algorithm 1; a baseline of AFGA and of FedNova, which do not define it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from fedspec.algorithms.scaffold import Scaffold
from fedspec.client.controlled import corrected_sgd
from fedspec.plan import Setup
from fedspec.readings import Control
from fedspec.server.average import average
from fedspec_torch.algorithms.local import schedule
from fedspec_torch.arith import Stack, Vector, Weights, masked
from fedspec_torch.mixing.control_variates import client_control, server_control
from fedspec_torch.mixing.weighted import shares, weighted_mean
from fedspec_torch.plan import Clients, Plan

__all__ = ["Scaffold", "init", "step"]


@dataclass(frozen=True)
class State:
    """The server's model and control variate, the control variate that each client keeps, and the clients' shares."""

    x: Vector
    c: Vector
    c_i: Stack
    p: Weights


def init(h: Scaffold, x: Vector, setup: Setup) -> State:
    """All control variates at zero."""
    p = shares(setup.examples, x, h.weights)
    return State(x=x, c=torch.zeros_like(x), c_i=x.new_zeros(setup.clients, len(x)), p=p)


def step(h: Scaffold, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round."""
    who = list(plan.participants)
    x, c, c_i = state.x.repeat(len(who), 1), state.c.repeat(len(who), 1), state.c_i[who]
    gradient = clients.oracle(who)
    y, at_x = x, c_i
    for k, active in schedule(plan.steps, x.device):
        g = gradient(k, y)
        if k == 0 and h.control is Control.GRADIENT_AT_X:
            at_x = g.clone()
        y = masked(corrected_sgd, active)(y, g, c_i, c, eta_l=h.eta_l)
    kept = client_control(c_i, c, y - x, at_x, steps=plan.steps, eta_l=h.eta_l, control=h.control)
    delta = weighted_mean(y - x, shares(plan.examples, state.x, h.weights))
    after = server_control(state.c, kept - c_i, state.p[who])
    all_kept = state.c_i.clone()
    all_kept[who] = kept
    state = replace(state, x=average(state.x, delta, eta=h.eta), c=after, c_i=all_kept)
    return state, {"delta": delta, "c_i": all_kept, "c": after}
