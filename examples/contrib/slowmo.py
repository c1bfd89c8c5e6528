"""SlowMo: a slow momentum over rounds, of what clients moved in units of their own rate.

    u = beta u - Delta / eta_l,  Delta = sum_i Delta_i / m
    x = x - eta eta_l u

over the m workers, who are not weighed; eta_l is the rate of the round. While eta_l stays, this is FedAvgM. When it
falls by a schedule, u keeps its length and what is taken of it shrinks with the rate, where FedAvgM goes on with the
momentum of the longer steps.

External: Wang, Tantia, Ballas and Rabbat (2020), arXiv 1910.00643, not opened, with SGD for the base optimiser.
Witness: Meta's two codes, which agree: facebookresearch/fairscale (_perform_local_optimization of
fairscale/experimental/nn/data_parallel/gossip/distributed.py at 20f55ed) and pytorch/torchdistx
(src/python/torchdistx/slowmo/slowmo_optimizer.py at 3208d8e).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector, zeros
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Method, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import weighted_mean
from fedspec.plan import Inbox
from fedspec.readings import Weighting
from fedspec.rules import rule
from fedspec_suite.own import Mistake, Reduction


@dataclass(frozen=True)
class SlowMo(Hyper):
    """Hyper-parameters and readings of SlowMo."""

    eta_l: Scalar
    beta: Scalar
    eta: Scalar = 1
    weights: Weighting = Weighting.UNIFORM


@dataclass(frozen=True)
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


def init(h: SlowMo, x: Vector) -> State:
    """No momentum yet."""
    return State(x=x, u=zeros(x))


def server(h: SlowMo, state: State, messages: Inbox) -> tuple[State, dict[str, Any]]:
    """Average the changes; one outer step."""
    delta = aggregate(messages, h.weights, state.x)
    return slowmo(state, delta, **h.of(slowmo)), {"delta": delta}


ROW = Algorithm(
    id="slowmo",
    family=Family.SERVERS,
    title="FedAvg with a slow momentum in units of the clients' rate",
    source="external: Wang, Tantia, Ballas and Rabbat (2020), arXiv 1910.00643",
    levels=("server", "round"),
    rules=(sgd, weighted_mean, slowmo),
    readings=(
        Reading(
            name="wang-2020", words="u = beta u - Delta / eta_l, x = x - eta eta_l u", fixes={"weights": "uniform"}
        ),
    ),
    shows=("delta", "u"),
    run=Method(hyper=SlowMo, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="2 d"),
    denies={},
    symbols={"eta_l": "gamma_t", "eta": "alpha"},
    traps=(
        "u points uphill and is subtracted",
        "u is in units of the clients' rate: divided by the rate of this round, multiplied by the rate of this round",
        "beta u is not damped: what is new enters whole",
    ),
)


def last_move(past: Any, h: Any, o: Any) -> Any:
    """The last move at one rate, from the mean changes of all rounds: the rate goes out."""
    T = len(past)
    return h["eta"] * sum(h["beta"] ** (T - 1 - t) * past[t] for t in range(T))


STEPS = {"slowmo": last_move}

EDGES = (
    Reduction(target="fedavg", values={"beta": 0.0}, cited="u is -Delta / eta_l", options={"weights": "uniform"}),
    Reduction(target="fedavgm", values={}, cited="while eta_l stays, it goes out", options={"weights": "uniform"}),
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
