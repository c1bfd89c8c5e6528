"""SCAFFOLD: local SGD with control variates that correct the clients' drift.

    for each participating client i:
        y = x;  tau_i times: y = y - eta_l (g_i(y) - c_i + c)
        Delta_i = y - x
        c_i^+ = c_i - c - Delta_i / (eta_l tau_i)      (option I: g_i(x))
    x = x + eta sum_i p_i Delta_i
    c = c + sum_i q_i (c_i^+ - c_i)

with shares p_i among the participants and q_i among all N clients: p_i = 1/|S| and q_i = 1/N as published.
External: Karimireddy et al. (2020), "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", whose Algorithm
1 was opened as ICML has it; a baseline of AFGA and of FedNova, which do not define it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec.algorithms.synchronous import aggregate, check_population, together
from fedspec.arith import Scalar, Stack, Vector, Weights, numbered, put, stack, zeros
from fedspec.client.controlled import corrected_sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading, Served
from fedspec.errors import PlanError
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.control_variates import client_control, server_control
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Inbox, Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Control, Shares, Weighting
from fedspec.records import record
from fedspec.server.average import average


@dataclass(frozen=True)
class Scaffold(Hyper):
    """Hyper-parameters and readings of SCAFFOLD."""

    eta_l: Scalar
    eta: Scalar
    weights: Shares = Shares.UNIFORM
    control: Control = Control.MEAN_GRADIENT


@record
class State:
    """The server's model and control variate, the control variate that each client keeps, and the clients' shares."""

    x: Vector
    c: Vector
    c_i: Stack
    p: Weights


def init(h: Scaffold, x: Vector, setup: Setup) -> State:
    """Initial state: all control variates at zero."""
    p = shares(setup.examples, x, h.weights)
    return State(x=x, c=zeros(x), c_i=stack([zeros(x)] * setup.clients), p=p)


def step(h: Scaffold, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""
    c, c_i = state.c, state.c_i

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> tuple[Vector, Vector]:
        y = x
        for k in range(tau):
            y = corrected_sgd(y, gradient(k, y), c_i[i], c, eta_l=h.eta_l)
        delta, g = y - x, gradient(0, x)
        return delta, client_control(c_i[i], c, delta, g, steps=tau, eta_l=h.eta_l, control=h.control)

    S = numbered(plan.participants, c_i)
    deltas, kept = each(client, clients, plan, state.x)
    delta = weighted_mean(deltas, shares(plan.examples, state.x, h.weights))
    x = average(state.x, delta, eta=h.eta)
    c = server_control(c, kept - c_i[S], state.p[S])
    c_i = put(c_i, S, kept)
    return replace(state, x=x, c=c, c_i=c_i), {"delta": delta, "c_i": c_i, "c": c}


@record
class Server:
    """State of the stand-alone server: its model, its control variate, and the number N of all clients."""

    x: Vector
    c: Vector
    clients: int


def init_server(h: Scaffold, x: Vector, clients: int) -> Server:
    """Initial state of the stand-alone server: a control variate of zero."""
    return Server(x=x, c=zeros(x), clients=clients)


def server(h: Scaffold, state: Server, messages: Inbox) -> tuple[Server, dict[str, Any]]:
    """Run the server's part of one round; the clients compute the messages themselves.

    Raises:
        PlanError: a message lacks the change of the control variate, or there are more participants than clients.
    """
    sent = together(messages)
    if sent.controls is None:
        raise PlanError("control: a message has none; SCAFFOLD's clients must send the change of c_i with Delta_i")
    check_population(sent, state.clients)
    delta = aggregate(sent, Weighting(h.weights), state.x)
    x = average(state.x, delta, eta=h.eta)
    p = shares([1] * state.clients, x)[: len(sent.steps)]
    c = server_control(state.c, sent.controls, p)
    return replace(state, x=x, c=c), {"delta": delta, "c": c}


ROW = Algorithm(
    id="scaffold",
    family=Family.CONTROL,
    place=1,
    title="stochastic controlled averaging",
    source="external: Karimireddy et al. (2020); a baseline of AFGA and of FedNova",
    basis=Basis.READ,
    levels=("server", "round"),
    readings=(
        Reading(
            name="karimireddy-2020",
            words="option II: c_i is the mean gradient of the round; plain means, c over all N clients",
            fixes={"control": "mean-gradient", "weights": "uniform"},
        ),
        Reading(
            name="option-1",
            words="option I: c_i is the gradient at the model that the round began with; at level server, which is "
            "told c_i^+ - c_i, the same rule as option II",
            fixes={"control": "gradient-at-x", "weights": "uniform"},
        ),
        Reading(
            name="weighted",
            words='option II with p_i = n_i / n in both means, as FedNova weighs (Table 1, "VR", not defined there)',
            fixes={"control": "mean-gradient", "weights": "examples"},
            levels=("round",),
        ),
    ),
    run=Program(
        hyper=Scaffold,
        init=init,
        step=step,
        served=Served(init=init_server, server=server, controls=True),
    ),
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
    symbols={"y": "y_i", "eta": "eta_g", "tau_i": "K"},
)
