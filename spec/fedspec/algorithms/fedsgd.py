"""Fed-SGD of the Fed-LAMB paper: local SGD with periodic averaging, which is FedAvg with equal weights.

    for each client i in D:
        x_i = x;  T times: x_i = x_i - eta_l g_i(x_i)
    x = mean over D of x_i

The name is taken: FedSGD of McMahan et al. (2017) takes one step a round. This one takes one to five epochs of them.

Source: Fed-LAMB, sec. 4 (L329), where it is a baseline, not written out; and the text on Fed-Avg (L100).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.arith import Scalar, Vector
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.periodic import model_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.records import record


@dataclass(frozen=True)
class FedSgd(Hyper):
    """The hyper-parameter of Fed-SGD."""

    eta_l: Scalar


@record
class State:
    """The server's model."""

    x: Vector


def init(h: FedSgd, x: Vector, setup: Setup) -> State:
    """Initial state: the server keeps only its model."""
    return State(x=x)


def step(h: FedSgd, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""

    def client(i: int, x: Vector, gradient: Oracle, T: int) -> Vector:
        for k in range(T):
            x = sgd(x, gradient(k, x), eta_l=h.eta_l)
        return x

    models = each(client, clients, plan, state.x)
    return State(x=model_mean(models, clients=len(plan.participants))), {}


ROW = Algorithm(
    id="fed-sgd",
    family=Family.LAYERWISE,
    place=3,
    title="local SGD with periodic averaging: FedAvg with equal weights",
    source="Fed-LAMB, sec. 4 (L329), not written out",
    basis=Basis.READ,
    levels=("round",),
    readings=(Reading(name="fed-sgd", words="the mean of the local models of the clients of the round"),),
    run=Program(hyper=FedSgd, init=init, step=step, takes=("layers",)),
    costs=Costs(down="m d", up="m d", server="d"),
    traps=("it takes many local steps: it is FedAvg with equal weights, not the FedSGD of one step",),
    facts=(Fact.AFFINE,),
    symbols={"x": "theta-bar_r", "x_i": "theta_(r,i)^t", "eta_l": "alpha", "D": "D^r"},
)
