"""FedEMA: the server steps along an exponential moving average of the changes.

    Delta = sum_i p_i Delta_i
    m = beta m + (1 - beta) Delta
    x = x + eta m

External: nowhere; made up to show how an algorithm is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector, zeros
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.hyper import Hyper
from fedspec.plan import Inbox
from fedspec.readings import Weighting
from fedspec.rules import rule


@dataclass(frozen=True)
class FedEma(Hyper):
    """Hyper-parameters of FedEMA."""

    eta_l: Scalar
    eta: Scalar
    beta: Scalar
    weights: Weighting = Weighting.EXAMPLES


@dataclass(frozen=True)
class State:
    """The server's model and the average of the changes."""

    x: Vector
    m: Vector


@rule
def ema(state: State, delta: Vector, *, eta: Scalar, beta: Scalar) -> State:
    """Take FedEMA's server step.

        m = beta m + (1 - beta) Delta              fedema.m
        x = x + eta m                              fedema.step

    External: nowhere.
    """
    m = beta * state.m + (1 - beta) * delta
    x = state.x + eta * m
    return State(x=x, m=m)


def init(h: FedEma, x: Vector) -> State:
    """Begin with an average of zero."""
    return State(x=x, m=zeros(x))


def server(h: FedEma, state: State, messages: Inbox) -> tuple[State, dict[str, Any]]:
    """Average the changes, and take one step."""
    delta = aggregate(messages, h.weights, state.x)
    return ema(state, delta, **h.of(ema)), {"delta": delta}


ROW = Algorithm(
    id="fedema",
    family=Family.SERVERS,
    title="FedAvg with an averaging server",
    source="external: nowhere; made up to show how an algorithm is added",
    basis=Basis.OURS,
    levels=("server", "round"),
    readings=(Reading(name="made-up", words="m = beta m + (1 - beta) Delta, x = x + eta m"),),
    run=Method(hyper=FedEma, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="2 d"),
    traps=(phrases.DOWNHILL, "Delta enters the average by 1 - beta, not whole"),
)
