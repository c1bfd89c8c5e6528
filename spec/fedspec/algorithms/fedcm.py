"""FedCM: every local step mixes the client's gradient with the server's direction of the round before.

    for each participating client i:
        y = x;  tau_i times: y = y - eta_l ((1 - rho) g_i(y) + rho D)         (D stays what it is)
    Delta = sum_i p_i (y_i - x)
    x = x + eta Delta
    D = -Delta / (eta_l sum_i p_i tau_i)

with p_i = 1/|S|, D = 0 at first and eta = 1. D is a gradient, the mean of all that the round's steps went along, and
1 - rho the paper's alpha. There all clients take K steps, which stands for sum_i p_i tau_i. From memory, the paper's
server steps by the new direction, x = x - eta_g D: the same with eta_g = eta K eta_l. In FL-Simulator eta is its eta_g.

External: Xu, Wang, Wang and Yao (2021), "FedCM: Federated Learning with Client-level Momentum", arXiv 2106.10874, of
which the abstract alone was opened. Witnesses: woodenchild95/FL-Simulator at 502bec6, client/fedcm.py and
server/FedCM.py, and LINs-lab/FedBR at 6c4c539, fedbr/scripts/train_fed.py:404-429 and fedbr/algorithms.py:105-147. In
both the server divides the mean change by one number of steps and by the rate at which they were taken. Besides,
FL-Simulator takes for that number epochs times n / batch of its first client, unrounded, and clips what is mixed; FedBR
takes the gradient whole where a part of D is all zeros, as in the first round. RickZack/GHBM keeps the change, which
each client divides by its own steps and rate (src/algo/fed_clients/fedcm_client.py at 41da4a9); its server makes it
(src/algo/center_server/fedcm_center_server.py), and sends of it the tensor of the last parameter alone (line 31).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.arith import Scalar, Shared, Vector, Weights, numbers, zeros
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Direction, Shares
from fedspec.records import record
from fedspec.rules import rule
from fedspec.server.average import average


@dataclass(frozen=True)
class FedCM(Hyper):
    """Hyper-parameters and readings of FedCM."""

    eta_l: Scalar
    rho: Scalar
    eta: Scalar = 1
    weights: Shares = Shares.UNIFORM
    direction: Direction = Direction.GRADIENT


@record
class State:
    """The server's model, and the direction of the last round."""

    x: Vector
    D: Vector


@rule
def mixed_sgd(x: Vector, g: Vector, D: Shared, *, eta_l: Scalar, rho: Scalar) -> Vector:
    """Local step of FedCM.

        y = y - eta_l ((1 - rho) g + rho D)        fedcm.y

    External: Xu, Wang, Wang and Yao (2021); see the row ``fedcm`` for whose code has it so.
    """
    return x - eta_l * ((1 - rho) * g + rho * D)


@rule
def own_direction(D: Vector, tau: int, *, eta_l: Scalar) -> Vector:
    """Direction for a client that takes tau steps, if the server keeps a change: over a round it adds rho of it.

        D_i = D / (eta_l tau_i)                    fedcm.D_i

    External: RickZack/GHBM, see the row ``fedcm``.
    """
    return D / (eta_l * tau)


@rule
def last_direction(
    delta: Vector, p: Weights, tau: Weights, *, eta_l: Scalar, direction: Direction = Direction.GRADIENT
) -> Vector:
    """Direction of FedCM's next round: the mean change, converted to a gradient.

        D = -Delta / (eta_l sum_i p_i tau_i)       fedcm.D
        D = -Delta                                 fedcm.D [direction=change]

    External: Xu, Wang, Wang and Yao (2021), with one number of steps for all.
    """
    if direction is Direction.CHANGE:
        return -delta
    return -delta / (eta_l * (p @ tau))


def init(h: FedCM, x: Vector, setup: Setup) -> State:
    """Initial state: the server has no direction yet."""
    return State(x=x, D=zeros(x))


def step(h: FedCM, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y, D = x, state.D
        if h.direction is Direction.CHANGE:
            D = own_direction(D, tau, eta_l=h.eta_l)
        for k in range(tau):
            y = mixed_sgd(y, gradient(k, y), D, **h.of(mixed_sgd))
        return y - x

    p = shares(plan.examples, state.x, h.weights)
    delta = weighted_mean(each(client, clients, plan, state.x), p)
    x = average(state.x, delta, eta=h.eta)
    D = last_direction(delta, p, numbers(plan.steps, p), **h.of(last_direction))
    return State(x=x, D=D), {"delta": delta, "D": D}


ROW = Algorithm(
    id="fedcm",
    family=Family.CONTROL,
    title="local steps mixed with the direction of the last round",
    source="external: Xu, Wang, Wang and Yao (2021)",
    basis=Basis.CODE,
    levels=("round",),
    readings=(
        Reading(
            name="fl-simulator",
            formerly=("xu-2021",),
            words="D is a gradient, minus the mean change over the rate and the mean number of steps",
            fixes={"direction": "gradient"},
        ),
        Reading(
            name="ghbm",
            words="D is minus the mean change, which each client divides by its own steps and rate; means by examples "
            "(RickZack/GHBM at 41da4a9)",
            fixes={"direction": "change", "weights": "examples"},
        ),
    ),
    run=Program(hyper=FedCM, init=init, step=step),
    costs=Costs(down="2 m d", up="m d", working="2 d", server="2 d"),
    facts=(Fact.ISOTROPIC,),
    traps=(
        phrases.DOWNHILL,
        "D is over the steps: as the whole change of a round it would be taken in every step",
        "D is over the rate at which the steps were taken, and is taken at the rate of this round",
        "D is what clients went along on the mean, before the server's rate",
        "D is the server's, from all clients of the last round; a buffer that each client keeps is another algorithm",
        "g enters by 1 - rho, not whole, in the first round too, where D is 0",
    ),
    symbols={"rho": "1 - alpha", "tau_i": "K", "eta": "eta_g / (K eta_l), from memory"},
)
