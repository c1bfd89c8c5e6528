"""Scaffnew: local steps until a random coin, common to all clients, triggers communication; ProxSkip for consensus.

    every client i:
        x_i = x;  tau times: x_i = x_i - eta_l (g_i(x_i) - h_i)      (tau: up to the coin that says 1)
    x = 1/n sum_i x_i
    every client i:  h_i = h_i + (p / eta_l) (x - x_i)

The coins are the plan: each says 1 with probability p, and a round is what lies between two that do. So tau is the
same for all clients, and geometric with mean 1 / p. While no coin says 1, no h_i changes. Coins that say 1
at every K-th step, with p = 1 / K, make it SCAFFOLD's option II of everybody at eta = 1, h_i = c_i - c, and VRL-SGD.

External: Mishchenko, Malinovsky, Stich and Richtarik (2022), as two unrelated codes have it: ``Glebzok/ProxSkip``,
``proxskip/methods/utils.py``, lines 57-75, and ``proxskip.py``, line 57, at 54d3f56, with one seed for all coins;
``locllos/felere``, ``felere/optimization/federative/scaffnew.py``, lines 18-45 at 112910e, which draws tau for each
client by itself, and not geometrically.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec import phrases
from fedspec.arith import Scalar, Stack, Vector, stack, zeros
from fedspec.client.controlled import drift_free_sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.errors import PlanError
from fedspec.hyper import Hyper
from fedspec.mixing.control_variates import skipped_control
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Weighting
from fedspec.records import record
from fedspec.server.average import average


@dataclass(frozen=True)
class Scaffnew(Hyper):
    """Hyper-parameters of Scaffnew."""

    eta_l: Scalar
    chance: Scalar


@record
class State:
    """The model, and the control variate that each client subtracts from its gradients."""

    x: Vector
    h_i: Stack


def init(h: Scaffnew, x: Vector, setup: Setup) -> State:
    """Initial state: h_i = 0, since the h_i must sum to zero."""
    return State(x=x, h_i=stack([zeros(x)] * setup.clients))


def step(h: Scaffnew, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round: the local steps up to a communication, and the update after it.

    Raises:
        PlanError: a client doesn't take part, or the numbers of steps differ.
    """
    plan, h_i = one_length(plan, len(clients)), state.h_i

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> tuple[Vector, Vector]:
        x_i = x
        for k in range(tau):
            x_i = drift_free_sgd(x_i, gradient(k, x_i), h_i[i], eta_l=h.eta_l)
        return x_i, x_i - x

    x_i, deltas = each(client, clients, plan, state.x)
    delta = weighted_mean(deltas, shares(plan.examples, state.x, Weighting.UNIFORM))
    x = average(state.x, delta, eta=1)
    h_i = skipped_control(h_i, x_i, x, eta_l=h.eta_l, chance=h.chance)
    return replace(state, x=x, h_i=h_i), {"delta": delta, "h_i": h_i}


def one_length(plan: Plan, n: int) -> Plan:
    """Plan in client order, if all n clients take part with equally many steps; else raise PlanError.

    Raises:
        PlanError: a client doesn't take part, or the numbers of steps differ.
    """
    if len(set(plan.steps)) > 1:
        raise PlanError(f"steps: got {plan.steps}; clients share their coins, so all must take equally many steps")
    return plan.of_everyone(n)


ROW = Algorithm(
    id="scaffnew",
    family=Family.CONTROL,
    aliases={"proxskip": "the method of which this is the federated form: its prox is the mean"},
    title="local steps until a shared coin says to communicate (ProxSkip)",
    source="external: Mishchenko, Malinovsky, Stich and Richtarik (2022)",
    basis=Basis.CODE,
    levels=("round",),
    readings=(
        Reading(
            name="shared-coin",
            formerly=("mishchenko-2022",),
            words="h_i moves by p / eta_l times x - x_i; coins, and so tau, are shared by all clients",
        ),
    ),
    run=Program(hyper=Scaffnew, init=init, step=step, takes=("everyone", "one-length")),
    costs=Costs(down="n d", up="n d", client="d", working="2 d", server="d"),
    traps=(
        phrases.EVERYONE,
        "h_i moves by p, the probability of the coin, not by 1 / tau of this round",
        "h_i moves after the mean was taken, by what the client lies beside it",
        "all clients share one coin; with a coin each the limit is the same, and no round is",
        "the h_i must sum to zero at first, or another point is the limit",
        "the sign is g - h_i, and h_i moves towards x - x_i",
    ),
    symbols={"eta_l": "gamma", "chance": "p", "tau": "the steps between two coins that say 1"},
)
