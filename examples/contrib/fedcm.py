"""Fedcm: what a client keeps from round to round, and what it sends, in a sentence.

    for each participating client i:
        y = x;  tau_i times: y = y - eta_l g_i(y)
        u_i = rho u_i + (1 - rho) (y - x)
    x = x + eta sum_i p_i u_i

over the participants, p_i = n_i / sum_j n_j.

External: who published it, and where.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec.arith import Scalar, Stack, Vector, numbered, put, stack, zeros
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.records import record
from fedspec.rules import rule
from fedspec.server.average import average
from fedspec_suite.own import Mistake, Reduction


@dataclass(frozen=True)
class Fedcm(Hyper):
    """Its hyper-parameters, by names of fedspec.domains; fedspec.domains.declare gives a new name its meaning."""

    eta_l: Scalar
    eta: Scalar
    rho: Scalar


@record
class State:
    """What is kept from round to round: the server's model x, and a row for each of all clients."""

    x: Vector
    u_i: Stack


@rule
def fedcm(u_i: Vector, delta: Vector, *, rho: Scalar) -> Vector:
    """What a client sends, and keeps: each printed equation on a line of its own that ends in its id.

        u_i = rho u_i + (1 - rho) Delta_i          fedcm.u_i

    External: the number and the page of the equation.
    """
    return rho * u_i + (1 - rho) * delta


def init(h: Fedcm, x: Vector, setup: Setup) -> State:
    """The state before the first round."""
    return State(x=x, u_i=stack([zeros(x)] * setup.clients))


def step(h: Fedcm, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round, and what it shows beside its state."""
    u_i = state.u_i

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        # Where several clients are asked at once, i is a list, and x and y have a row for each.
        y = x
        for k in range(tau):
            y = sgd(y, gradient(k, y), eta_l=h.eta_l)
        return fedcm(u_i[i], y - x, rho=h.rho)

    S = numbered(plan.participants, u_i)
    sent = each(client, clients, plan, state.x)
    delta = weighted_mean(sent, shares(plan.examples, state.x))
    x = average(state.x, delta, eta=h.eta)
    return replace(state, x=x, u_i=put(u_i, S, sent)), {"delta": delta, "u_i": sent}


ROW = Algorithm(
    id="fedcm",
    family=Family.CONTROL,
    title="what it is, in a line",
    source="external: who published it, and where",
    levels=("round",),
    rules=(sgd, weighted_mean, fedcm, average),
    readings=(Reading(name="published", words="u_i = rho u_i + (1 - rho) Delta_i is sent, x = x + eta sum_i p_i u_i"),),
    shows=("delta", "u_i"),
    run=Program(hyper=Fedcm, init=init, step=step),
    # Floats that are sent in a round (m clients, d parameters) and kept.
    costs=Costs(down="m d", up="m d", client="d", working="2 d", server="d"),
    # What is read off and not true of it, {Fact.PLAIN_MEAN: "why"}: `fedspec laws --why fedcm` lists it.
    denies={},
    traps=("u_i is kept by a client that does not take part",),
)


def on_quadratics(z: Any, e: Any) -> list[Any]:
    """A round on quadratics as one matrix: block 0 is x, block 1 + i is u_i, and no local step is taken."""
    u = [z.block(1 + i) for i in z.all]
    for i, tau in zip(e.participants, e.steps, strict=True):
        u[i] = z.h["rho"] * u[i] - (1 - z.h["rho"]) * z.reach(i, tau) @ z.gradient(i)
    p = z.shares(e.participants)
    return [z.block(0) + z.h["eta"] * sum(p_i * u[i] for i, p_i in zip(e.participants, p, strict=True)), *u]


MAPS = {"fedcm": on_quadratics}

EDGES = (Reduction(target="fedavg", values={"rho": 0.0}, cited="u_i is Delta_i where rho = 0", levels=("round",)),)

MUTANTS = (
    Mistake(
        id="fedcm-undamped",
        words="the average is a sum: u_i = rho u_i + Delta_i",
        function=fedcm,
        old="(1 - rho) * delta",
        new="delta",
    ),
    Mistake(
        id="fedcm-anew",
        words="u_i is forgotten between rounds",
        function=step,
        old="fedcm(u_i[i], y - x, rho=h.rho)",
        new="fedcm(0 * u_i[i], y - x, rho=h.rho)",
    ),
)
