"""FedPAQ: federated averaging of changes that each client rounds at random to a few levels before sending.

    for each participating client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i)
        Delta_i = Q(x_i - x; u_i)                   (Q: s levels; u_i: d draws in [0, 1), part of the plan)
    Delta = mean of Delta_i over the participants
    x = x + Delta

External: Reisizadeh et al. (2020), whose abstract says that updates are quantised before they are sent and that a part
of the clients takes part. The round is that of another group's code, with rand-k for Q:
``IgorSokoloff/rr_with_compression_experiments_source_code``, ``logistic_regression/fedpaq.py``, lines 54-62 and 90 at
6fbb013. This Q is that of Alistarh et al. (2017), see fedspec.client.quantise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.arith import Scalar, Vector
from fedspec.client.quantise import quantise, quantise_by_largest
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.errors import PlanError
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Unit, Weighting
from fedspec.records import record
from fedspec.server.average import average


@dataclass(frozen=True)
class FedPaq(Hyper):
    """Hyper-parameters and reading of FedPAQ."""

    eta_l: Scalar
    levels: int
    unit: Unit = Unit.LENGTH


@record
class State:
    """The server's model."""

    x: Vector


def init(h: FedPaq, x: Vector, setup: Setup) -> State:
    """Initial state: the server keeps only its model."""
    return State(x=x)


def step(h: FedPaq, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round.

    Raises:
        PlanError: the plan lacks the random draws of a participant.
    """
    check_draws(plan)
    rounded = quantise_by_largest if h.unit is Unit.LARGEST else quantise

    def client(i: int, x: Vector, gradient: Oracle, tau: int, u: Vector) -> Vector:
        x_i = x
        for k in range(tau):
            x_i = sgd(x_i, gradient(k, x_i), eta_l=h.eta_l)
        return rounded(x_i - x, u, levels=h.levels)

    deltas = each(client, clients, plan, state.x)
    delta = weighted_mean(deltas, shares(plan.examples, state.x, Weighting.UNIFORM))
    return State(x=average(state.x, delta, eta=1)), {"delta": delta}


def check_draws(plan: Plan) -> None:
    """Raise PlanError if the plan has no random draws for its clients.

    Raises:
        PlanError: the plan lacks the random draws of a participant.
    """
    if not plan.draws:
        raise PlanError("draws: the list is empty; give each participant one number in [0, 1) for each coordinate")


ROW = Algorithm(
    id="fedpaq",
    family=Family.COMPRESSED,
    place=1,
    title="federated averaging of randomly rounded changes",
    source="external: Reisizadeh et al. (2020); the quantiser of Alistarh et al. (2017)",
    basis=Basis.CODE,
    levels=("round",),
    readings=(
        Reading(
            name="qsgd",
            words="levels are shares of the Euclidean length of the whole change; the plain mean of what is sent",
            fixes={"unit": "length"},
        ),
        Reading(
            name="largest-entry",
            words="levels are shares of the largest entry, as FedLab's quantiser has them",
            fixes={"unit": "largest"},
        ),
    ),
    run=Program(hyper=FedPaq, init=init, step=step, takes=("draws",)),
    costs=Costs(
        down="m d",
        up="m",
        server="d",
        note="a length; the d levels from -s to s that are sent beside it are whole numbers, and not counted",
    ),
    traps=(
        phrases.DOWNHILL,
        "the change is rounded; of a rounded model the error grows with the model",
        "each coordinate has a draw of its own: one for all is unbiased too, but errors do not average out",
        "a change of zero has no length to divide by: it is sent as zero",
        "s counts the steps from 0 to R; of b bits it is 2^b, 2^b - 1 or less, by who counts",
        "a length for each layer, or each tensor, is another quantiser",
    ),
    symbols={"levels": "s", "Delta_i": "Q(x_(k,tau)^(i) - x_k)"},
)
