"""FedDyn: clients add a linear term to their objectives, so that the objectives' minima agree.

    for each participating client i:
        y_i = argmin of F_i(y) - lam_i' y + mu/2 |y - x|^2, approached by gradient descent:
            y_i = x;  tau_i times: y_i = y_i - eta_l (g_i(y_i) - lam_i + mu (y_i - x))
        lam_i = lam_i - mu (y_i - x)
    h = h - mu 1/N sum over S of (y_i - x)
    x = 1/|S| sum over S of y_i - h / mu

External: Acar et al. (2021), Algorithm 1, where mu is called alpha and lam_i is grad L_i(theta_i); a baseline of AFGA,
which does not define it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec.algorithms.synchronous import check_population, together
from fedspec.arith import Scalar, Stack, Vector, put, stack, zeros
from fedspec.client.controlled import dynamic_sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading, Served, above_zero
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.duals import check_pull, client_dual, dynamic_average, server_dual
from fedspec.plan import Inbox, Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.records import record


@dataclass(frozen=True)
class FedDyn(Hyper):
    """Hyper-parameters of FedDyn.

    Raises:
        ParameterError: mu is 0, and the server divides by it.
    """

    eta_l: Scalar
    mu: Scalar

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pull(self.mu)


@record
class State:
    """The server's model and dual variable, and the dual variable that each client keeps."""

    x: Vector
    h: Vector
    lam_i: Stack


def init(h: FedDyn, x: Vector, setup: Setup) -> State:
    """Initial state: all dual variables at zero."""
    return State(x=x, h=zeros(x), lam_i=stack([zeros(x)] * setup.clients))


def step(h: FedDyn, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""
    lam_i = state.lam_i

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> tuple[Vector, Vector]:
        y = x
        for k in range(tau):
            y = dynamic_sgd(y, gradient(k, y), lam_i[i], x, eta_l=h.eta_l, mu=h.mu)
        return y - x, client_dual(lam_i[i], y - x, mu=h.mu)

    S = list(plan.participants)
    deltas, kept = each(client, clients, plan, state.x)
    lam_i = put(lam_i, S, kept)
    dual = server_dual(state.h, deltas, mu=h.mu, clients=len(lam_i))
    x = dynamic_average(state.x + deltas, dual, mu=h.mu)
    return State(x=x, h=dual, lam_i=lam_i), {"lam_i": lam_i, "h": dual}


@record
class Server:
    """State of the stand-alone server: its model and dual variable, and the number N of all clients."""

    x: Vector
    h: Vector
    clients: int


def init_server(h: FedDyn, x: Vector, clients: int) -> Server:
    """Initial state of the stand-alone server: the dual variable at zero."""
    return Server(x=x, h=zeros(x), clients=clients)


def server(h: FedDyn, state: Server, messages: Inbox) -> tuple[Server, dict[str, Any]]:
    """Run the server's part of one round; a local model is the server's model plus the client's change.

    Raises:
        PlanError: there are more participants than clients.
    """
    sent = together(messages)
    check_population(sent, state.clients)
    dual = server_dual(state.h, sent.deltas, mu=h.mu, clients=state.clients)
    x = dynamic_average(state.x + sent.deltas, dual, mu=h.mu)
    return replace(state, x=x, h=dual), {"h": dual}


ROW = Algorithm(
    id="feddyn",
    family=Family.CONTROL,
    place=2,
    title="dynamic regularisation",
    source="external: Acar et al. (2021); a baseline of AFGA",
    basis=Basis.MEMORY,
    levels=("server", "round"),
    readings=(
        Reading(
            name="gradient-steps",
            words="the local minimum of the published algorithm is approached by tau_i gradient steps from x",
            requires=(above_zero("feddyn", "mu"),),
        ),
    ),
    run=Program(
        hyper=FedDyn,
        init=init,
        step=step,
        served=Served(init=init_server, server=server, reads=("mu",)),
    ),
    costs=Costs(
        down="m d",
        up="m d",
        client="d",
        working="3 d",
        server="2 d",
        note="lam_i and the model that the round began with are kept during it",
    ),
    traps=(
        "the pull of mu is towards the model of this round",
        "h averages over all clients, x over the participants",
        "mu > 0: the server divides by it",
        "the published local minimum is exact; gradient steps approach it",
    ),
    facts=(Fact.COUNTS_ALL,),
    symbols={"x": "theta^t", "y_i": "theta_k^t", "mu": "alpha", "lam_i": "grad L_k(theta_k^t)"},
)
