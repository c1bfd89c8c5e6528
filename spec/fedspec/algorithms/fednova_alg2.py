"""FedNova's Algorithm 2: clients with momentum and cross-client variance reduction, all clients in every round.

    every client i:
        u = 0
        c_i = - d_i + sum_j p_j d_j            (d from the round before; 0 in the first)
        for k = 0..tau_i-1:                    (printed: u^(k) = rho u^(k-1) + g_i(x^(k)) + c_i from u^(0) = 0, L980)
            u = rho u + g_i(x_i) + c_i
            x_i = x_i - eta_l u
        a_i = [tau_i - rho (1 - rho^tau_i) / (1 - rho)] / (1 - rho)
        d_i = (x - x_i) / (eta_l a_i) - c_i    (printed: d_i = (x - x_i) / (eta a_i), L985)
    x = x - (sum_i p_i a_i) eta_l sum_i p_i d_i

Two lines of the print are repaired. The loop takes its gradient at the result of its own step, which cannot be run; it
is that of eqs. (35)-(36). Line 13 leaves c_i in d_i, and the correction swings for ever; the text (L204) corrects by
the d_i of eq. (12), the mean of the gradients themselves. The server's step is the same with either, since the p_i c_i
sum to zero. Readings keep the print (see ``Loop`` and ``Stored``). The first round is not printed: d = 0.
Source: FedNova, Alg. 2 (L972-989).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec import phrases
from fedspec.algorithms.fednova import SYMBOLS
from fedspec.algorithms.fednova_vr import State, init
from fedspec.arith import Scalar, Vector, numbers
from fedspec.client.controlled import corrected_gradient
from fedspec.client.momentum import begin, momentum
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.accumulation import momentum_norm
from fedspec.mixing.control_variates import cross_client, stored_direction
from fedspec.mixing.nova import effective_steps, general_update, normalised_gradient
from fedspec.plan import Oracle, Plan
from fedspec.population import Clients, each
from fedspec.readings import Loop, Shares, Stored, TauEff

__all__ = ["FedNovaAlg2", "State", "init", "step"]


@dataclass(frozen=True)
class FedNovaAlg2(Hyper):
    """Hyper-parameters and readings of Algorithm 2."""

    eta_l: Scalar
    rho: Scalar
    weights: Shares = Shares.EXAMPLES
    stored: Stored = Stored.UNCORRECTED
    loop: Loop = Loop.SHIFTED


def step(h: FedNovaAlg2, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round.

    Raises:
        PlanError: a client doesn't take part.
    """
    plan, p = plan.of_everyone(len(clients)), state.p
    missed = 0 if h.loop is Loop.SHIFTED else 1
    c_i = cross_client(state.d, p)

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> tuple[Vector, Scalar]:
        local = begin(x)
        for k in range(tau - missed):
            local = momentum(local, corrected_gradient(gradient(k, local.x), c_i[i]), eta_l=h.eta_l, rho=h.rho)
        a_i = momentum_norm(tau, rho=h.rho)
        d_i = normalised_gradient(local.x - x, eta_l=h.eta_l, a_norm=a_i)
        return stored_direction(d_i, c_i[i], stored=h.stored), a_i

    d, a = each(client, clients, plan, state.x)
    tau_eff = effective_steps(p, numbers(a, p), plan.steps, TauEff.WEIGHTED_NORM)
    x = general_update(state.x, d, p, tau_eff=tau_eff, eta_l=h.eta_l)
    return replace(state, x=x, d=d), {"c_i": c_i, "tau_eff": tau_eff}


ROW = Algorithm(
    id="fednova-alg2",
    family=Family.CONTROL,
    place=5,
    title="FedNova's Algorithm 2: momentum clients, cross-client variance reduction",
    source="FedNova, Alg. 2 (L972-989)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="repaired",
            words="the loop as in eqs. (35)-(36); d_i without the correction, as the text (L204) defines it",
            fixes={"stored": "uncorrected", "loop": "shifted"},
        ),
        Reading(
            name="line-13-as-printed",
            words="the loop as in eqs. (35)-(36); d_i holds the correction, a defect: c_i swings every round",
            fixes={"stored": "corrected", "loop": "shifted"},
        ),
        Reading(
            name="as-printed",
            words="lines 7-9 as printed too, a defect: one local step fewer than a_i counts",
            fixes={"stored": "corrected", "loop": "printed"},
        ),
    ),
    run=Program(hyper=FedNovaAlg2, init=init, step=step, takes=("everyone",)),
    costs=Costs(
        down="2 n d",
        up="n (d + 1)",
        client="d",
        working="3 d",
        server="2 d",
        note="the two vectors that are received follow from one another and the model before (lines 3 and 4)",
    ),
    traps=(
        "line 13 as printed stores the correction with d_i: half of it is reached, in swings",
        "lines 7-9 as printed take one step fewer than a_i counts",
        phrases.EVERYONE,
    ),
    facts=(Fact.CONTROLLED,),
    symbols=SYMBOLS | {"u": "u_i^(t,k)", "c_i": "c_i^(t)", "a_i": "a_i, the norm ||a_i||_1"},
)
