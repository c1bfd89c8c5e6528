"""FedACG: clients begin at the point that the server's momentum leads to, with a proximal pull towards it.

    a = x + beta m
    for each participating client i:
        y = a;  tau_i times: y = y - eta_l (g_i(y) + mu (y - a))
    Delta = sum_i (y_i - a) / n
    m = beta m + Delta
    x = x + m

over the n participants; m = 0 before the first round. The server goes to a + Delta, the mean of what clients send.

External: Kim, Kim and Han (2024), arXiv 2201.03172, not opened. Witness: the authors' code geehokim/FedACG (ServerM of
servers/base.py at 0a34f70, prox_loss of clients/base_client.py at 14fe302). Its weight of the pull is mu / 2, since
that loss has no factor 1/2; its clipping and decay are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.arith import Scalar, Vector, zeros
from fedspec.client.proximal import proximal_sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Weighting
from fedspec.records import record
from fedspec.rules import rule
from fedspec_suite.own import Mistake, Reduction


@dataclass(frozen=True)
class FedACG(Hyper):
    """Hyper-parameters of FedACG."""

    eta_l: Scalar
    mu: Scalar
    beta: Scalar


@record
class State:
    """State of FedACG: the server's model and its momentum."""

    x: Vector
    m: Vector


@rule
def ahead(state: State, *, beta: Scalar) -> Vector:
    """Return the point at which clients begin.

        a = x + beta m                                        fedacg.a

    External: Kim, Kim and Han (2024).
    """
    return state.x + beta * state.m


@rule
def fedacg(state: State, delta: Vector, *, beta: Scalar) -> State:
    """Take the server step; delta is the mean change from the clients' starting point.

        m = beta m + Delta                                    fedacg.m
        x = x + m                                             fedacg.step

    External: Kim, Kim and Han (2024).
    """
    m = beta * state.m + delta
    return State(x=state.x + m, m=m)


def init(h: FedACG, x: Vector, setup: Setup) -> State:
    """Begin with zero momentum."""
    return State(x=x, m=zeros(x))


def step(h: FedACG, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""

    def client(i: int, a: Vector, gradient: Oracle, tau: int) -> Vector:
        y = a
        for k in range(tau):
            y = proximal_sgd(y, gradient(k, y), a, eta_l=h.eta_l, mu=h.mu)
        return y - a

    deltas = each(client, clients, plan, ahead(state, beta=h.beta))
    delta = weighted_mean(deltas, shares(plan.examples, state.x, Weighting.UNIFORM))
    state = fedacg(state, delta, beta=h.beta)
    return state, {"delta": delta, "m": state.m}


ROW = Algorithm(
    id="fedacg",
    family=Family.SERVERS,
    title="clients begin where the server's momentum leads",
    source="external: Kim, Kim and Han (2024), arXiv 2201.03172",
    levels=("round",),
    readings=(
        Reading(name="kim-2024", words="a = x + beta m, m = beta m + Delta, x = x + m, Delta the plain mean from a"),
    ),
    run=Program(hyper=FedACG, init=init, step=step),
    costs=Costs(down="m d", up="m d", working="2 d", server="2 d"),
    denies={},
    symbols={"beta": "lambda", "mu": "beta", "a": "theta + lambda m"},
    traps=(
        "gradients are at a, and the pull is to a, not to x",
        "m is in the model once: a has beta m already, and x + m is a + Delta",
        "the weight of the authors' prox_loss is mu / 2",
    ),
)


def on_quadratics(z: Any, e: Any) -> list[Any]:
    """Return a round on quadratics as one matrix; block 1 is a - x, the clients' starting point relative to x."""
    lead, n = z.block(1), len(e.participants)
    delta = -1 * sum(
        z.reach(i, tau, z.h["mu"]) @ (z.gradient(i) + z.problem.H[i] @ lead) / n
        for i, tau in zip(e.participants, e.steps, strict=True)
    )
    return [z.block(0) + lead + delta, z.h["beta"] * (lead + delta), *(z.block(1 + i) for i in z.all[1:])]


MAPS = {"fedacg": on_quadratics}

EDGES = (
    Reduction(
        target="fedprox",
        values={"beta": 0.0},
        cited="a is x, and x + m is x + Delta",
        levels=("round",),
        options={"weights": "uniform"},
    ),
)

MUTANTS = (
    Mistake(
        id="fedacg-behind",
        words="clients begin at x, as under FedAvgM",
        function=ahead,
        old="state.x + beta * state.m",
        new="state.x",
    ),
    Mistake(
        id="fedacg-twice",
        words="the server adds m to the mean of what clients send, which has it already",
        function=fedacg,
        old="x=state.x + m",
        new="x=state.x + beta * state.m + m",
    ),
    Mistake(
        id="fedacg-half",
        words="the pull is half as strong, as if the authors' weight were mu",
        function=step,
        old="mu=h.mu",
        new="mu=h.mu / 2",
    ),
)
