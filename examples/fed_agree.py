"""FedAgree: the server shortens its step along the mean change the less the clients' changes agree.

    Delta = sum_i p_i Delta_i
    rate = ||Delta||^2 / (sum_i ||Delta_i||^2 / M + eps)
    x = x + rate Delta

over the M clients of the round, p_i = 1 / M. An algorithm in a file of its own: docs/own-algorithms.md.

External: nowhere; made up, the neighbour of FedExP that goes less far where that one goes further.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import stacked
from fedspec.arith import Scalar, Stack, Vector, total
from fedspec.costs import Costs
from fedspec.domains import Dimension
from fedspec.entry import Algorithm, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import weighted_mean
from fedspec.plan import Inbox
from fedspec.readings import Weighting
from fedspec.records import record
from fedspec.rules import rule
from fedspec_suite.own import Mistake


@dataclass(frozen=True)
class FedAgree(Hyper):
    """Hyper-parameters and readings of FedAgree."""

    eta_l: Scalar
    eps: Scalar
    weights: Weighting = Weighting.UNIFORM


@record
class State:
    """The server's model."""

    x: Vector


@rule
def fed_agree(state: State, deltas: Stack, delta: Vector, *, eps: Scalar) -> State:
    """Take the server step from all changes and their mean.

        rate = ||Delta||^2 / (sum_i ||Delta_i||^2 / M + eps)      fed-agree.rate
        x = x + rate Delta                                        fed-agree.step

    External: nowhere.
    """
    M = deltas.shape[0]
    rate = (delta**2).sum() / ((deltas**2).sum() / M + eps)
    x = state.x + rate * delta
    return State(x=x)


def init(h: FedAgree, x: Vector) -> State:
    """Begin with the model alone."""
    return State(x=x)


def server(h: FedAgree, state: State, messages: Inbox) -> tuple[State, dict[str, Any]]:
    """Average the changes, and step along the mean."""
    p, deltas = stacked(messages, h.weights, state.x)
    delta = weighted_mean(deltas, p)
    return fed_agree(state, deltas, delta, eps=h.eps), {"delta": delta}


ROW = Algorithm(
    id="fed-agree",
    family=Family.SERVERS,
    title="FedAvg with a server that goes less far where clients disagree",
    source="external: nowhere; made up to show an algorithm in a file of its own",
    levels=("server", "round"),
    readings=(
        Reading(
            name="made-up",
            words="x = x + ||Delta||^2 / (sum_i ||Delta_i||^2 / M + eps) Delta, p_i = 1 / M",
            fixes={"weights": "uniform"},
        ),
    ),
    run=Method(hyper=FedAgree, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="d"),
    denies={
        Fact.PLAIN_MEAN: "its rate reads each change's norm",
        Fact.ADAPTIVE: "its eps keeps a rate finite; a step is as long as the changes",
        "coordinates": "its rate is one number over the whole model",
    },
    dimensions={"eps": Dimension.SQUARE},
    traps=(
        "both norms are over the whole model, not of each tensor",
        "the sum of squares is divided by M before eps is added",
    ),
)


def last_move(p: Any, changes: Any, h: Any, o: Any) -> Any:
    """Return the move from the mean's norm and pairwise distances of the changes, neither of which the rule uses."""
    mean = sum(p_i * v for p_i, v in zip(p, changes, strict=True))
    pairs = combinations(zip(p, changes, strict=True), 2)
    apart = sum(p_i * p_j * total((v - w) ** 2) for (p_i, v), (p_j, w) in pairs)
    return total(mean**2) / (total(mean**2) + apart + h["eps"]) * mean


MOVES = {"fed-agree": last_move}

MUTANTS = (
    Mistake(
        id="fed-agree-sum",
        words="the squared norms are added up, not averaged",
        function=fed_agree,
        old="(deltas**2).sum() / M",
        new="(deltas**2).sum()",
    ),
    Mistake(
        id="fed-agree-norm-of-sum",
        words="the norm above is that of the sum of changes, not of their mean",
        function=fed_agree,
        old="rate = (delta**2).sum()",
        new="rate = ((M * delta) ** 2).sum()",
    ),
    Mistake(
        id="fed-agree-root",
        words="the rate is the root of what it should be",
        function=fed_agree,
        old="rate = (delta**2).sum() / ((deltas**2).sum() / M + eps)",
        new="rate = sqrt((delta**2).sum() / ((deltas**2).sum() / M + eps))",
    ),
)
