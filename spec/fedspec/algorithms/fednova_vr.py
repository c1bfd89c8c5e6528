"""FedNova with cross-client variance reduction; all clients take part in every round.

    every client i:
        c_i = sum_j p_j d_j - d_i              (d from the round before; 0 in the first)
        x_i = x;  tau_i local steps of a solver with accumulation vector a_i, on g_i + c_i instead of g_i
        d_i = (x - x_i) / (eta_l ||a_i||_1) - c_i
    tau_eff = sum_i p_i ||a_i||_1
    x = x - tau_eff sum_i p_i eta_l d_i

Source: FedNova, L204 with eq. (12): d_i is the mean of the gradients themselves. Since sum_i p_i c_i = 0 the server's
step is the same with d_i + c_i. The paper does not say what the first round does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.algorithms.fednova import SYMBOLS
from fedspec.algorithms.local import READ_BY, local_norm, local_run
from fedspec.arith import Scalar, Stack, Vector, Weights, numbers, stack, zeros
from fedspec.client.controlled import corrected_gradient
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.control_variates import cross_client, stored_direction
from fedspec.mixing.nova import effective_steps, general_update, normalised_gradient
from fedspec.mixing.weighted import shares
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Shares, Solver, TauEff
from fedspec.records import record


@dataclass(frozen=True)
class FedNovaVR(Hyper):
    """Hyper-parameters and readings of FedNova-VR; mu, rho and gamma belong to the local solver."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = READ_BY

    eta_l: Scalar
    mu: Scalar = 0
    rho: Scalar = 0
    gamma: Scalar = 1
    solver: Solver = Solver.SGD
    weights: Shares = Shares.EXAMPLES


@record
class State:
    """The server's model, each client's direction of the last round, and the clients' shares."""

    x: Vector
    d: Stack
    p: Weights


def init(h: Any, x: Vector, setup: Setup) -> State:
    """Initial state: directions of zero, so that the first round is not corrected."""
    return State(x=x, d=stack([zeros(x)] * setup.clients), p=shares(setup.examples, x, h.weights))


def step(h: FedNovaVR, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round.

    Raises:
        PlanError: a client doesn't take part.
    """
    plan, p = plan.of_everyone(len(clients)), state.p
    c_i = cross_client(state.d, p)

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> tuple[Vector, Scalar]:
        def corrected(k: int, y: Vector) -> Vector:
            return corrected_gradient(gradient(k, y), c_i[i])

        x_i = local_run(h, x, corrected, tau)
        a_i = local_norm(h, tau)
        d_i = normalised_gradient(x_i - x, eta_l=h.eta_l, a_norm=a_i)
        return stored_direction(d_i, c_i[i]), a_i

    d, a = each(client, clients, plan, state.x)
    tau_eff = effective_steps(p, numbers(a, p), plan.steps, TauEff.WEIGHTED_NORM)
    x = general_update(state.x, d, p, tau_eff=tau_eff, eta_l=h.eta_l)
    return replace(state, x=x, d=d), {"c_i": c_i, "tau_eff": tau_eff}


ROW = Algorithm(
    id="fednova-vr",
    family=Family.CONTROL,
    place=4,
    title="normalised averaging with cross-client variance reduction",
    source="FedNova, L204 with eq. (12)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="fednova", words="c_i = sum_j p_j d_j - d_i from the uncorrected d of the round before; 0 at first"
        ),
    ),
    run=Program(hyper=FedNovaVR, init=init, step=step, takes=("everyone",)),
    costs=Costs(
        down="2 n d",
        up="n (d + 1)",
        client="d",
        working="2 d",
        server="2 d",
        note="sum_i p_i d_i is sent beside x; it follows from two models in a row, so that n (d + 1) are enough down",
    ),
    traps=(
        "d_i is stored without the correction; with it c_i swings from round to round",
        phrases.EVERYONE,
        "the first round is not corrected",
    ),
    facts=(Fact.CONTROLLED,),
    symbols=SYMBOLS,
)
