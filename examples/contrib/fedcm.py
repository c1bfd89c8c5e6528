"""FedCM: every local step goes partly along the direction in which the server last went.

    for each participating client i:
        y = x;  tau_i times: y = y - eta_l (1 - rho) g_i(y) + rho D / tau_i
    D = sum_i p_i (y_i - x)
    x = x + eta D

over the participants; D = 0 before the first round. Over a round the direction adds rho D, however many steps a client
takes: it is divided by their number. The paper writes it as a gradient, D / (-eta_l K), and alpha = 1 - rho.

External: Xu, Wang, Wang and Yao (2021), arXiv 2106.10874, not opened. Witness: two unrelated codes, which agree where
all clients take K steps at a rate that stays: RickZack/GHBM (src/algo/fed_clients/fedcm_client.py at 3d01a7a with
src/algo/center_server/fedcm_center_server.py at 41da4a9) and woodenchild95/FL-Simulator (client/fedcm.py and
server/FedCM.py at e677e78 with server/server.py at 653ebb5). Where steps differ, this is GHBM's: the direction is
divided by the client's own tau_i, there by one number for all. Clients are alike in FL-Simulator (reading alike);
GHBM's server is handed their weights. FL-Simulator clips the gradient besides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec.arith import Array, Scalar, Vector, zeros
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Shares
from fedspec.records import record
from fedspec.rules import rule
from fedspec.server.average import average
from fedspec_suite.own import Mistake, Reduction


@dataclass(frozen=True)
class FedCM(Hyper):
    """Hyper-parameters and readings of FedCM."""

    eta_l: Scalar
    rho: Scalar
    eta: Scalar = 1
    weights: Shares = Shares.EXAMPLES


@record
class State:
    """The server's model and the mean change of the last round."""

    x: Vector
    D: Vector


@rule
def fedcm(y: Vector, g: Vector, D: Array, tau: int, *, eta_l: Scalar, rho: Scalar) -> Vector:
    """One local step of a client that takes tau of them.

        y = y - eta_l (1 - rho) g + rho D / tau               fedcm.y

    External: Xu, Wang, Wang and Yao (2021).
    """
    # D is an Array: one vector for all clients, where y and g may have a row for each.
    return y - eta_l * (1 - rho) * g + rho * D / tau


def init(h: FedCM, x: Vector, setup: Setup) -> State:
    """The server has gone nowhere."""
    return State(x=x, D=zeros(x))


def step(h: FedCM, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round."""
    D = state.D

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = x
        for k in range(tau):
            y = fedcm(y, gradient(k, y), D, tau, **h.of(fedcm))
        return y - x

    deltas = each(client, clients, plan, state.x)
    delta = weighted_mean(deltas, shares(plan.examples, state.x, h.weights))
    return State(x=average(state.x, delta, eta=h.eta), D=delta), {"delta": delta}


ROW = Algorithm(
    id="fedcm",
    family=Family.CONTROL,
    title="local steps mixed with the server's last direction",
    source="external: Xu, Wang, Wang and Yao (2021), arXiv 2106.10874",
    levels=("round",),
    rules=(fedcm, weighted_mean, average),
    readings=(
        Reading(name="by-examples", words="D = sum_i p_i Delta_i, p_i by examples", fixes={"weights": "examples"}),
        Reading(name="alike", words="D is the plain mean of the changes", fixes={"weights": "uniform"}),
    ),
    shows=("delta",),
    run=Program(hyper=FedCM, init=init, step=step),
    costs=Costs(down="2 m d", up="m d", working="2 d", server="2 d"),
    denies={},
    symbols={"rho": "1 - alpha", "eta": "eta_g", "D": "-eta_l K Delta"},
    traps=(
        "the direction is divided by the client's steps: undivided it would be taken tau_i times",
        "D is the mean of the changes before the server's rate, so that eta enters no local step",
        "g enters by 1 - rho, not whole",
    ),
)


def on_quadratics(z: Any, e: Any) -> list[Any]:
    """A round on quadratics as one matrix: block 1 is D; a client reaches what SGD does at eta_l (1 - rho)."""
    rho, rate = z.h["rho"], z.h["eta_l"] * (1 - z.h["rho"])
    slower = replace(z, h={**z.h, "eta_l": rate})
    p = z.shares(e.participants, z.o["weights"] == "uniform")
    moves = (
        slower.reach(i, tau) @ (rho / (rate * tau) * z.block(1) - z.gradient(i))
        for i, tau in zip(e.participants, e.steps, strict=True)
    )
    D = sum(p_i * move for p_i, move in zip(p, moves, strict=True))
    return [z.block(0) + z.h["eta"] * D, D, *(z.block(1 + i) for i in z.all[1:])]


MAPS = {"fedcm": on_quadratics}

EDGES = (Reduction(target="fedavg", values={"rho": 0.0}, cited="nothing of D is taken", levels=("round",)),)

MUTANTS = (
    Mistake(
        id="fedcm-undivided",
        words="D is taken whole in every step",
        function=fedcm,
        old="rho * D / tau",
        new="rho * D",
    ),
    Mistake(
        id="fedcm-whole",
        words="the gradient enters whole, D beside it",
        function=fedcm,
        old="(1 - rho) * g",
        new="g",
    ),
    Mistake(
        id="fedcm-uphill",
        words="D is taken with the wrong sign, as if it were a gradient",
        function=fedcm,
        old="+ rho * D",
        new="- rho * D",
    ),
    Mistake(
        id="fedcm-moved",
        words="what is kept is what the server moved, its rate included",
        function=step,
        old="D=delta)",
        new="D=h.eta * delta)",
    ),
)
