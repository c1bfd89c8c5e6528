"""VRL-SGD: local SGD whose clients subtract their drift from the mean; all clients take part in every round.

    every client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l (g_i(x_i) - v_i)
    x = sum_i p_i x_i
    every client i:  v_i = v_i + (x - x_i) / (eta_l tau_i)

External: Liang et al. (2019), Algorithm 1, with p_i = 1/N and one tau for everybody. FedNova (L78) runs it with tau_i
for tau and reports that it may diverge then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec import phrases
from fedspec.arith import Scalar, Stack, Vector, Weights, stack, zeros
from fedspec.client.controlled import drift_free_sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.control_variates import drift_controls
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Divisor, Shares
from fedspec.records import record
from fedspec.server.average import average


@dataclass(frozen=True)
class VrlSgd(Hyper):
    """Hyper-parameters and readings of VRL-SGD."""

    eta_l: Scalar
    weights: Shares = Shares.UNIFORM
    divisor: Divisor = Divisor.OWN_STEPS


@record
class State:
    """The server's model, each client's control variate (subtracted from its gradients), and the clients' shares."""

    x: Vector
    v_i: Stack
    p: Weights


def init(h: VrlSgd, x: Vector, setup: Setup) -> State:
    """Initial state: v_i = 0, so that the first round subtracts nothing."""
    return State(x=x, v_i=stack([zeros(x)] * setup.clients), p=shares(setup.examples, x, h.weights))


def step(h: VrlSgd, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round.

    Raises:
        PlanError: a client doesn't take part.
    """
    plan = plan.of_everyone(len(clients))
    v_i = state.v_i

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> tuple[Vector, Vector]:
        x_i = x
        for k in range(tau):
            x_i = drift_free_sgd(x_i, gradient(k, x_i), v_i[i], eta_l=h.eta_l)
        return x_i, x_i - x

    x_i, deltas = each(client, clients, plan, state.x)
    delta = weighted_mean(deltas, state.p)
    x = average(state.x, delta, eta=1)
    v_i = drift_controls(v_i, x_i, x, steps=plan.steps, eta_l=h.eta_l, divisor=h.divisor)
    return replace(state, x=x, v_i=v_i), {"delta": delta, "v_i": v_i}


ROW = Algorithm(
    id="vrl-sgd",
    family=Family.CONTROL,
    place=3,
    title="variance-reduced local SGD",
    source="external: Liang et al. (2019); FedNova, L78",
    basis=Basis.MEMORY,
    levels=("round",),
    readings=(
        Reading(
            name="own-steps",
            words="what a client has drifted is divided by its own tau_i (FedNova, L78: different tau_i for one tau)",
            fixes={"divisor": "own-steps"},
        ),
        Reading(name="mean-steps", words="it is divided by the mean of all tau_i", fixes={"divisor": "mean-steps"}),
    ),
    run=Program(hyper=VrlSgd, init=init, step=step, takes=("everyone",)),
    costs=Costs(down="n d", up="n d", client="d", working="2 d", server="d"),
    traps=(
        phrases.EVERYONE,
        "with unequal tau_i, dividing by the own or by the mean tau decides whether it is biased or diverges",
    ),
    facts=(Fact.CONTROLLED,),
    symbols={"eta_l": "gamma", "v_i": "Delta_i", "tau_i": "k"},
)
