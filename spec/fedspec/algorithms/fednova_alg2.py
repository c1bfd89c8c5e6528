"""FedNova's Algorithm 2: momentum clients with cross-client variance reduction, everybody in every round.

    every client i:
        u = 0
        c_i = - d_i + sum_j p_j d_j            (d from the round before; 0 in the first)
        for k = 0..tau_i-1:
            u = rho u + g_i(x_i) + c_i
            x_i = x_i - eta_l u
        a_i = [tau_i - rho (1 - rho^tau_i) / (1 - rho)] / (1 - rho)
        d_i = (x - x_i) / (eta_l a_i)
    x = x - (sum_i p_i a_i) eta_l sum_i p_i d_i

Source: FedNova, Alg. 2 (L972-989). As printed the loop cannot run (see ``Loop``) and d_i holds c_i, so that the
correction swings (see ``Stored``). The canonical reading repairs the loop only; the other repair makes it FedNova with
cross-client variance reduction as the text (L204) has it. The first round is not printed: d = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedspec import phrases
from fedspec.algorithms.fednova_vr import State, init
from fedspec.arith import Scalar, Vector, numbers
from fedspec.client.controlled import corrected_gradient
from fedspec.client.momentum import begin, momentum
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.accumulation import a_norm, accumulation
from fedspec.mixing.control_variates import cross_client, stored_direction
from fedspec.mixing.nova import effective_steps, general_update, normalised_gradient
from fedspec.plan import Oracle, Plan
from fedspec.readings import Loop, Solver, Stored, TauEff, Weighting

__all__ = ["FedNovaAlg2", "State", "init", "local", "step"]


@dataclass(frozen=True)
class FedNovaAlg2(Hyper):
    """Hyper-parameters and readings of Algorithm 2."""

    eta_l: Scalar
    rho: Scalar
    weights: Weighting = Weighting.EXAMPLES
    stored: Stored = Stored.CORRECTED
    loop: Loop = Loop.SHIFTED


def local(h: FedNovaAlg2, x: Vector, c_i: Vector, gradient: Oracle, tau: int) -> Vector:
    """The local model after the loop of lines 6-10."""
    state = begin(x)
    for k in range(tau if h.loop is Loop.SHIFTED else tau - 1):
        state = momentum(state, corrected_gradient(gradient(k, state.x), c_i), eta_l=h.eta_l, rho=h.rho)
    return state.x


def step(h: FedNovaAlg2, state: State, clients: Sequence[Oracle], plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round.

    Raises:
        PlanError: somebody does not take part.
    """
    steps = plan.steps_of_all(len(clients))
    a = numbers([a_norm(Solver.MOMENTUM, tau, rho=h.rho) for tau in steps], state.x)
    c_i = cross_client(state.d, state.p)
    deltas = [local(h, state.x, c_i[i], clients[i], tau) - state.x for i, tau in enumerate(steps)]
    d = np.stack([normalised_gradient(delta, eta_l=h.eta_l, a_norm=a_i) for delta, a_i in zip(deltas, a, strict=True)])
    tau_eff = effective_steps(state.p, a, steps, TauEff.WEIGHTED_NORM)
    x = general_update(state.x, d, state.p, tau_eff=tau_eff, eta_l=h.eta_l)
    kept = np.stack([stored_direction(d_i, c, stored=h.stored) for d_i, c in zip(d, c_i, strict=True)])
    return replace(state, x=x, d=kept), {"c_i": c_i, "tau_eff": tau_eff}


ROW = Algorithm(
    id="fednova-alg2",
    family=Family.CONTROL,
    place=5,
    title="FedNova's Algorithm 2: momentum clients, cross-client variance reduction",
    source="FedNova, Alg. 2 (L972-989)",
    levels=("round",),
    rules=(
        cross_client,
        corrected_gradient,
        momentum,
        accumulation,
        normalised_gradient,
        stored_direction,
        effective_steps,
        general_update,
    ),
    readings=(
        Reading(
            name="line-13-as-printed",
            words="the loop as in eqs. (35)-(36); d_i holds the correction, a defect: c_i swings every round",
            fixes={"stored": "corrected", "loop": "shifted"},
        ),
        Reading(
            name="repaired",
            words="the loop as in eqs. (35)-(36); d_i without the correction, as the text (L204) defines it",
            fixes={"stored": "uncorrected", "loop": "shifted"},
        ),
        Reading(
            name="as-printed",
            words="lines 7-9 as printed too, a defect: one local step fewer than a_i counts",
            fixes={"stored": "corrected", "loop": "printed"},
        ),
    ),
    shows=("c_i", "tau_eff"),
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
)
