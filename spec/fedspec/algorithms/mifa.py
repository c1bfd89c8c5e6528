"""MIFA: the server steps along the last gradients of all clients, including absent clients.

    for each client i of the round:
        y_i = x;  tau_i times: y_i = y_i - eta_l g_i(y_i)
        G_i = (x - y_i) / eta_l
    G = 1/N sum_i G_i                      (over all N clients; who was never heard counts as 0)
    x = x - eta_l G

G_i is a sum of gradients, not a change: an old one counts at the rate of this round. The authors' code has two forms.
In one the server waits until every client was there once, asks all of them for their G_i, and takes its first step in
the round after; in the other it does not wait, and nothing is known at first. The canonical reading is the second.

External: Gu, Huang, Zhang and Huang (2021), "Fast Federated Learning in the Presence of Arbitrary Device
Unavailability", arXiv 2106.04159, named by Client-Centric, L388, as the authors' code has it: hmgxr128/MIFA_code at
8c35102, src/trainers/fdu_no_wait.py:18-19, 36-40 and 54-55; src/trainers/fdu.py has the form that waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.arith import Scalar, Stack, Vector, numbered, put, stack, zeros
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.remembered import gradients_of, remembered_step
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.records import record


@dataclass(frozen=True)
class Mifa(Hyper):
    """The hyper-parameter of MIFA."""

    eta_l: Scalar


@record
class State:
    """The server's model, and the last sum of gradients of every client."""

    x: Vector
    g_i: Stack


def init(h: Mifa, x: Vector, setup: Setup) -> State:
    """Initial state: zeros as the last gradients of every client."""
    return State(x=x, g_i=stack([zeros(x)] * setup.clients))


def step(h: Mifa, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = x
        for k in range(tau):
            y = sgd(y, gradient(k, y), eta_l=h.eta_l)
        return gradients_of(y - x, eta_l=h.eta_l)

    S = numbered(plan.participants, state.g_i)
    g_i = put(state.g_i, S, each(client, clients, plan, state.x))
    x, g = remembered_step(state.x, g_i, eta_l=h.eta_l)
    return State(x=x, g_i=g_i), {"g_i": g_i, "g": g}


ROW = Algorithm(
    id="mifa",
    family=Family.CONTROL,
    title="what every client sent last, present or away",
    source="external: Gu, Huang, Zhang and Huang (2021); named by Client-Centric, L388",
    basis=Basis.CODE,
    levels=("round",),
    readings=(
        Reading(
            name="gu-2021-code",
            words="G = 1/N sum_i G_i over all clients, 0 for who was never heard (hmgxr128/MIFA_code at 8c35102, "
            "src/trainers/fdu_no_wait.py:36-40 and 54-55)",
        ),
    ),
    run=Program(hyper=Mifa, init=init, step=step),
    costs=Costs(down="m d", up="m d", server="(n + 1) d", note="the running mean of the G_i is another d"),
    facts=(Fact.COUNTS_ALL, Fact.ISOTROPIC),
    traps=(
        phrases.DOWNHILL,
        "the mean is over all N clients, not over those of the round",
        "G_i replaces what the client sent before; added to it, nobody's old gradient is ever forgotten",
        "G_i is over the rate at which it was made, and the step has the rate of this round",
        "who was never heard counts as 0: the first steps are short, unless the first round has everybody",
    ),
    symbols={"eta_l": "eta_t", "tau": "K", "g_i": "G^i"},
)
