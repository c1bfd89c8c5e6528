"""FedMom: FedAvg whose server extrapolates along the difference of its last two points.

    Delta = sum_i p_i Delta_i              (clients as in FedAvg)
    y_new = x + eta Delta
    x = y_new + beta (y_new - y)
    y = y_new

That is Nesterov's momentum as a difference of points. With x in place of y_new in both brackets it is the heavy ball.
With a rate that stays both are FedAvgM's; with another rate in every round the differences hold the old ones.

External: Huo, Yang, Gu and Huang (2020), "Faster On-Device Training Using New Federated Momentum Algorithm",
arXiv 2002.02090, which was not opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.plan import Inbox
from fedspec.readings import MomentumForm, Weighting
from fedspec.records import record
from fedspec.rules import rule


@dataclass(frozen=True)
class FedMom(Hyper):
    """Hyper-parameters and readings of FedMom."""

    eta_l: Scalar
    eta: Scalar
    beta: Scalar
    momentum: MomentumForm = MomentumForm.NESTEROV
    weights: Weighting = Weighting.EXAMPLES


@record
class State:
    """The server's model, and the point y from which the next difference is taken."""

    x: Vector
    y: Vector


@rule
def fed_mom(
    state: State, delta: Vector, *, eta: Scalar, beta: Scalar, momentum: MomentumForm = MomentumForm.NESTEROV
) -> State:
    """Server step of FedMom.

        y_new = x + eta Delta                              fedmom.y
        x = x + eta Delta + beta (y_new - y)               fedmom.step
        y_new = x                                          fedmom.y [momentum=heavy-ball]

    External: Huo, Yang, Gu and Huang (2020).
    """
    there = state.x + eta * delta
    y = state.x if momentum is MomentumForm.HEAVY_BALL else there
    x = there + beta * (y - state.y)
    return State(x=x, y=y)


def init(h: FedMom, x: Vector) -> State:
    """Initial state: both points at the first model."""
    return State(x=x, y=x)


def server(h: FedMom, state: State, messages: Inbox) -> tuple[State, dict[str, Any]]:
    """Average the changes and take one step of FedMom."""
    delta = aggregate(messages, h.weights, state.x)
    return fed_mom(state, delta, **h.of(fed_mom)), {"delta": delta}


ROW = Algorithm(
    id="fedmom",
    family=Family.SERVERS,
    title="FedAvg whose server extrapolates, by Nesterov's momentum",
    source="external: Huo, Yang, Gu and Huang (2020)",
    basis=Basis.MEMORY,
    levels=("server", "round"),
    readings=(
        Reading(
            name="huo-2020",
            words="y_new = x + eta Delta, x = y_new + beta (y_new - y): Nesterov's, with the rates of their own rounds",
            fixes={"momentum": "nesterov"},
        ),
        Reading(
            name="heavy-ball",
            words="x = x + eta Delta + beta (x - y), y the model of the round before",
            fixes={"momentum": "heavy-ball"},
        ),
    ),
    run=Method(hyper=FedMom, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="2 d"),
    traps=(phrases.DOWNHILL, "y begins at the first model; one that begins at zero throws the first round off"),
    facts=(Fact.ISOTROPIC,),
    symbols={"x": "w_t", "y": "v_t"},
)
