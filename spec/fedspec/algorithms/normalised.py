"""FedAvg whose clients take steps of bounded length, which heavy-tailed noise can't break.

    for each participating client i (a multiset):
        x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i) / (||g_i(x_i)|| + eps)
        Delta_i = x_i - x
    x = x + 1/|S| sum_i Delta_i

The text calls the clients' solver AdaGrad. Source: FedAda2, App. A, eq. (2) (L377).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.arith import Scalar, Vector
from fedspec.client.normalised import normalised_sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Weighting
from fedspec.records import record
from fedspec.server.average import average


@dataclass(frozen=True)
class FedAvgNormalised(Hyper):
    """Hyper-parameters of FedAvg with normalised local steps."""

    eta_l: Scalar
    eps: Scalar


@record
class State:
    """The server's model."""

    x: Vector


def init(h: FedAvgNormalised, x: Vector, setup: Setup) -> State:
    """Initial state: the server keeps only its model."""
    return State(x)


def step(h: FedAvgNormalised, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = x
        for k in range(tau):
            y = normalised_sgd(y, gradient(k, y), eta_l=h.eta_l, eps=h.eps)
        return y - x

    deltas = each(client, clients, plan, state.x)
    delta = weighted_mean(deltas, shares(plan.examples, state.x, Weighting.UNIFORM))
    return State(average(state.x, delta)), {"delta": delta}


ROW = Algorithm(
    id="fedavg-normalised",
    family=Family.JOINT,
    place=7,
    title="a mean of clients whose steps have bounded length",
    source="FedAda2, App. A, eq. (2) (L377)",
    basis=Basis.READ,
    levels=("round",),
    readings=(Reading(name="fedada2", words="every step over the length of its gradient plus eps, mean over |S|"),),
    run=Program(hyper=FedAvgNormalised, init=init, step=step, takes=("repeats",)),
    costs=Costs(down="m d", up="m d", server="d"),
    traps=(phrases.DRAWN_TWICE, "what the text calls AdaGrad remembers nothing from step to step"),
    facts=(Fact.ISOTROPIC, Fact.NORMALISED),
)
