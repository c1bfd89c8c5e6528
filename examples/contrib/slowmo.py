"""SlowMo: a slow momentum over rounds, of what workers moved in units of their own rate.

    for each participating client i:
        y = x;  tau_i times: y = y - eta_l g_i(y)
    Delta = sum_i p_i (y_i - x)
    u = beta u - Delta / eta_l
    x = x - eta eta_l u

over the m participants, p_i = 1 / m; u = 0 before the first round. While eta_l stays, this is FedAvgM. When it falls by
a schedule, u keeps its length and what is taken of it shrinks with the rate, where FedAvgM goes on with the momentum
of the longer steps.

External: Wang, Tantia, Ballas and Rabbat (2020), arXiv 1910.00643, not opened, with SGD for the base optimiser.
Witness: the code of one of the authors, whom its commit 21464e0 names, facebookresearch/fairscale
(_perform_local_optimization of fairscale/experimental/nn/data_parallel/gossip/distributed.py at 20f55ed); and
pytorch/torchdistx (src/python/torchdistx/slowmo/slowmo_optimizer.py at 3208d8e), which agrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.arith import Scalar, Vector, zeros
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Weighting
from fedspec.records import record
from fedspec.rules import rule
from fedspec_suite.own import Mistake, Reduction


@dataclass(frozen=True)
class SlowMo(Hyper):
    """Hyper-parameters of SlowMo."""

    eta_l: Scalar
    beta: Scalar
    eta: Scalar = 1


@record
class State:
    """The server's model and the slow momentum."""

    x: Vector
    u: Vector


@rule
def slowmo(state: State, delta: Vector, *, eta_l: Scalar, eta: Scalar, beta: Scalar) -> State:
    """One outer step.

        u = beta u - Delta / eta_l                            slowmo.u
        x = x - eta eta_l u                                   slowmo.step

    External: Wang, Tantia, Ballas and Rabbat (2020).
    """
    u = beta * state.u - delta / eta_l
    x = state.x - eta * eta_l * u
    return State(x=x, u=u)


def init(h: SlowMo, x: Vector, setup: Setup) -> State:
    """No momentum yet."""
    return State(x=x, u=zeros(x))


def step(h: SlowMo, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round."""

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = x
        for k in range(tau):
            y = sgd(y, gradient(k, y), eta_l=h.eta_l)
        return y - x

    deltas = each(client, clients, plan, state.x)
    delta = weighted_mean(deltas, shares(plan.examples, state.x, Weighting.UNIFORM))
    state = slowmo(state, delta, **h.of(slowmo))
    return state, {"delta": delta, "u": state.u}


ROW = Algorithm(
    id="slowmo",
    family=Family.SERVERS,
    title="FedAvg with a slow momentum in units of the clients' rate",
    source="external: Wang, Tantia, Ballas and Rabbat (2020), arXiv 1910.00643",
    # A server that is judged alone is not told eta_l.
    levels=("round",),
    rules=(sgd, weighted_mean, slowmo),
    readings=(Reading(name="wang-2020", words="u = beta u - Delta / eta_l, x = x - eta eta_l u, p_i = 1 / m"),),
    shows=("delta", "u"),
    run=Program(hyper=SlowMo, init=init, step=step),
    costs=Costs(down="m d", up="m d", working="2 d", server="2 d"),
    denies={},
    symbols={"eta_l": "gamma_t", "eta": "alpha"},
    traps=(
        "u points uphill and is subtracted",
        "u is in units of the clients' rate: divided by the rate of this round, multiplied by the rate of this round",
        "what is new enters whole, not by 1 - beta",
    ),
)


def on_quadratics(z: Any, e: Any) -> list[Any]:
    """A round on quadratics as one matrix: block 1 is how far the last round went, the rate being no unit of it."""
    went, m = z.block(1), len(e.participants)
    went = z.h["beta"] * went - z.h["eta"] * sum(
        z.reach(i, tau) @ z.gradient(i) / m for i, tau in zip(e.participants, e.steps, strict=True)
    )
    return [z.block(0) + went, went, *(z.block(1 + i) for i in z.all[1:])]


MAPS = {"slowmo": on_quadratics}

EDGES = (
    Reduction(
        target="fedavg",
        values={"beta": 0.0},
        cited="u is -Delta / eta_l",
        levels=("round",),
        options={"weights": "uniform"},
    ),
    Reduction(
        target="fedavgm",
        values={},
        cited="while eta_l stays, it goes out",
        levels=("round",),
        options={"weights": "uniform"},
    ),
)

MUTANTS = (
    Mistake(
        id="slowmo-plain",
        words="u is in units of the model, and multiplied by the rate all the same",
        function=slowmo,
        old="delta / eta_l",
        new="delta",
    ),
    Mistake(
        id="slowmo-dampened",
        words="what is new enters u by 1 - beta",
        function=slowmo,
        old="- delta / eta_l",
        new="- (1 - beta) * delta / eta_l",
    ),
    Mistake(
        id="slowmo-old",
        words="the step is along the momentum of the round before",
        function=slowmo,
        old="eta_l * u",
        new="eta_l * state.u",
    ),
)
