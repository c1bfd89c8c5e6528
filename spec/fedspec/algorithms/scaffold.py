"""SCAFFOLD.

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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedspec.arith import Scalar, Stack, Vector, Weights, zeros
from fedspec.client.controlled import corrected_sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.control_variates import client_control, server_control
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.readings import Control, Weighting
from fedspec.server.average import average


@dataclass(frozen=True)
class Scaffold(Hyper):
    """Hyper-parameters and readings of SCAFFOLD."""

    eta_l: Scalar
    eta: Scalar
    weights: Weighting = Weighting.UNIFORM
    control: Control = Control.MEAN_GRADIENT


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
    return State(x=x, c=zeros(x), c_i=np.stack([zeros(x)] * setup.clients), p=p)


def local(h: Scaffold, state: State, i: int, gradient: Oracle, tau: int) -> tuple[Vector, Vector]:
    """The change of client i after tau corrected steps, and the control variate that it keeps."""
    y = state.x
    for k in range(tau):
        y = corrected_sgd(y, gradient(k, y), state.c_i[i], state.c, eta_l=h.eta_l)
    delta, g = y - state.x, gradient(0, state.x)
    kept = client_control(state.c_i[i], state.c, delta, g, steps=tau, eta_l=h.eta_l, control=h.control)
    return delta, kept


def step(h: Scaffold, state: State, clients: Sequence[Oracle], plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round."""
    who = list(plan.participants)
    sent = [local(h, state, i, clients[i], tau) for i, tau in zip(who, plan.steps, strict=True)]
    deltas, kept = (np.stack(column) for column in zip(*sent, strict=True))
    delta = weighted_mean(deltas, shares(plan.examples, state.x, h.weights))
    c = server_control(state.c, kept - state.c_i[who], state.p[who])
    c_i = state.c_i.copy()
    c_i[who] = kept
    state = replace(state, x=average(state.x, delta, eta=h.eta), c=c, c_i=c_i)
    return state, {"delta": delta, "c_i": c_i, "c": c}


ROW = Algorithm(
    id="scaffold",
    family=Family.CONTROL,
    place=1,
    title="stochastic controlled averaging",
    source="external: Karimireddy et al. (2020); a baseline of AFGA and of FedNova",
    levels=("round",),
    rules=(corrected_sgd, weighted_mean, client_control, server_control, average),
    readings=(
        Reading(
            name="karimireddy-2020",
            words="option II: c_i is the mean gradient of the round; plain means, c over all N clients",
            fixes={"control": "mean-gradient", "weights": "uniform"},
        ),
        Reading(
            name="option-1",
            words="option I: c_i is the gradient at the model that the round began with",
            fixes={"control": "gradient-at-x", "weights": "uniform"},
        ),
        Reading(
            name="weighted",
            words='option II with p_i = n_i / n in both means, as FedNova weighs (Table 1, "VR", not defined there)',
            fixes={"control": "mean-gradient", "weights": "examples"},
        ),
    ),
    shows=("delta", "c_i", "c"),
    run=Program(hyper=Scaffold, init=init, step=step),
    costs=Costs(
        down="2 m d",
        up="2 m d",
        client="d",
        working="3 d",
        server="2 d",
        note="the second vector that is sent follows from the first, tau_i and c: the server could make it itself",
    ),
    traps=(
        "c moves by 1/N, over all clients, not over the participants",
        "clients send the change of c_i; sending c_i itself counts it anew each round",
        "c_i is divided by eta_l tau_i, the steps of this round, not by epochs",
        "c_i is kept by a client that does not take part",
        "the sign is g - c_i + c",
    ),
    facts=(Fact.CONTROLLED, Fact.COUNTS_ALL),
)
