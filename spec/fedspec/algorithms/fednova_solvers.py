"""FedNova with a solver for each client; the plan names the solvers and may change them from round to round.

    for each participating client i:
        x_i = x;  tau_i local steps of its solver, with accumulation vector a_i
        d_i = (x - x_i) / (eta_l ||a_i||_1)
    tau_eff = sum_i p_i ||a_i||_1
    x = x - tau_eff sum_i p_i eta_l d_i

Source: FedNova, eqs. (4) and (12) (L198) with L206: local solvers need not be the same, nor fixed over the rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec.algorithms.fednova import SYMBOLS
from fedspec.algorithms.local import local_solve
from fedspec.arith import Scalar, Vector, numbers
from fedspec.costs import Costs
from fedspec.domains import pull
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.errors import PlanError
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.accumulation import a_norm
from fedspec.mixing.nova import effective_steps, general_update, normalised_gradient
from fedspec.mixing.weighted import shares
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Solver, TauEff, Weighting, choice
from fedspec.records import record


@dataclass(frozen=True)
class FedNovaSolvers(Hyper):
    """Hyper-parameters and readings; every client has its own FedNova solver, which may read mu, rho or gamma."""

    eta_l: Scalar
    mu: Scalar
    rho: Scalar
    gamma: Scalar
    weights: Weighting = Weighting.EXAMPLES


@record
class State:
    """The server's model, which is all it keeps."""

    x: Vector


def init(h: FedNovaSolvers, x: Vector, setup: Setup) -> State:
    """Initial state: the first model."""
    return State(x=x)


def step(h: FedNovaSolvers, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round.

    Raises:
        PlanError: the plan doesn't name a solver for each participant.
        UnknownNameError: the plan names a solver that FedNova doesn't have.
    """
    if not plan.strategies:
        raise PlanError(
            "strategies: the list is empty; name the local solver of each participant, or run fednova with one for all"
        )

    def client(i: int, x: Vector, gradient: Oracle, tau: int, strategy: str) -> tuple[Vector, Scalar]:
        solver = choice(Solver, "strategies", strategy)
        x_i = local_solve(solver, x, gradient, tau, eta_l=h.eta_l, mu=h.mu, rho=h.rho, gamma=h.gamma)
        a_i = a_norm(solver, tau, alpha=pull(h.eta_l, h.mu), rho=h.rho, gamma=h.gamma)
        return normalised_gradient(x_i - x, eta_l=h.eta_l, a_norm=a_i), a_i

    p = shares(plan.examples, state.x, h.weights, plan.steps)
    d, a = each(client, clients, plan, state.x)
    tau_eff = effective_steps(p, numbers(a, p), plan.steps, TauEff.WEIGHTED_NORM)
    x = general_update(state.x, d, p, tau_eff=tau_eff, eta_l=h.eta_l)
    return replace(state, x=x), {"tau_eff": tau_eff}


ROW = Algorithm(
    id="fednova-solvers",
    family=Family.CONTROL,
    place=7,
    title="normalised averaging, a local solver for each client",
    source="FedNova, eqs. (4), (12) (L198) with L206",
    basis=Basis.READ,
    levels=("round",),
    readings=(Reading(name="fednova", words="every change is divided by the ||a_i||_1 of its own solver; w_i = p_i"),),
    run=Program(hyper=FedNovaSolvers, init=init, step=step, takes=("strategies",), strategies=tuple(Solver)),
    costs=Costs(down="m d", up="m (d + 1)", server="d", note="as fednova; a client needs what its solver needs"),
    traps=(
        "each change is divided by the ||a_i||_1 of the solver that made it",
        "solvers may change from round to round: nothing of them is kept",
    ),
    facts=(Fact.AFFINE, Fact.ISOTROPIC),
    symbols=SYMBOLS,
)
