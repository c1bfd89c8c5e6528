"""MoFedSAM: local steps mix a gradient from a point uphill with the server's direction of the round before.

    for each participating client i:
        y = x;  tau_i times: g = g_i(y);  z = y + radius g / (||g|| + eps)
                             y = y - eta_l ((1 - rho) g_i(z) + rho D)         (of one batch; D stays what it is)
    Delta = sum_i p_i (y_i - x)
    x = x + eta Delta
    D = -Delta / (eta_l sum_i p_i tau_i)

with p_i = 1/|S|, D = 0 at first and eta = 1; 1 - rho is the paper's beta. It is FedSAM with FedCM's direction, and D is
no part of where a client looks: the gradient that leads uphill is of the loss alone. From memory, the paper's server
steps by the new direction, x = x - eta_g D: the same with eta_g = eta K eta_l.

External: Qu et al. (2022), "Generalized Federated Learning via Sharpness Aware Minimization", arXiv 2206.02618; the
abstract alone was opened. Witnesses: woodenchild95/FL-Simulator at 502bec6, client/mofedsam.py:18-39 and
server/MoFedSAM.py:15-33, which takes for the number of steps epochs times n / batch of its first client, unrounded, and
clips what is mixed to length 10; and, for what a client does, junkangLiu0/FedSWA at f725be9, main_FedSWA.py:908-956,
with radius 0.1 and rho 0.9. There a client subtracts D from what it went along, and the server keeps the mean of that
(main_FedSWA.py:1430-1454): D is then less by the direction before it, which is no reading here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.fedcm import State, init, last_direction, mixed_sgd
from fedspec.algorithms.fedsam import uphill
from fedspec.arith import Scalar, Vector, numbers
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan
from fedspec.population import Clients, each
from fedspec.readings import Shares
from fedspec.server.average import average


@dataclass(frozen=True)
class MoFedSam(Hyper):
    """Hyper-parameters of MoFedSAM."""

    eta_l: Scalar
    radius: Scalar
    eps: Scalar
    rho: Scalar
    eta: Scalar = 1
    weights: Shares = Shares.UNIFORM


def step(h: MoFedSam, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = x
        for k in range(tau):
            z = uphill(y, gradient(k, y), radius=h.radius, eps=h.eps)
            y = mixed_sgd(y, gradient(k, z), state.D, eta_l=h.eta_l, rho=h.rho)
        return y - x

    p = shares(plan.examples, state.x, h.weights)
    delta = weighted_mean(each(client, clients, plan, state.x), p)
    x = average(state.x, delta, eta=h.eta)
    D = last_direction(delta, p, numbers(plan.steps, p), eta_l=h.eta_l)
    return State(x=x, D=D), {"delta": delta, "D": D}


ROW = Algorithm(
    id="mofedsam",
    family=Family.CONTROL,
    title="FedSAM whose local steps are mixed with the direction of the last round",
    source="external: Qu et al. (2022)",
    basis=Basis.CODE,
    levels=("round",),
    readings=(
        Reading(
            name="fl-simulator",
            formerly=("qu-2022",),
            words="D is a gradient, minus the mean change over the rate and the mean number of steps; FL-Simulator "
            "weighs clients alike",
        ),
    ),
    run=Program(hyper=MoFedSam, init=init, step=step),
    costs=Costs(
        down="2 m d",
        up="m d",
        working="3 d",
        server="2 d",
        note="a step asks for two gradients, and keeps y, or z - y, while it looks at z",
    ),
    facts=(Fact.ISOTROPIC,),
    denies={Fact.ADAPTIVE: "its server divides by nothing: the stabiliser is that of how far its clients look"},
    usual={"eps": 1e-12},
    traps=(
        phrases.DOWNHILL,
        "where a client looks is told by its gradient alone: D is mixed in after that, and not before",
        "both gradients of a step are of one batch, and the step is taken from y",
        "D is over the steps and over the rate: as the whole change of a round it would be taken in every step",
        "D enters the step by rho and the gradient by 1 - rho, in the first round too, where D is 0",
        "what a client went along holds rho of D already: D is not subtracted from it before it is kept",
    ),
    symbols={"radius": "rho", "rho": "1 - beta", "tau_i": "K", "eta": "eta_g / (K eta_l), from memory"},
)
