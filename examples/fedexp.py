"""FedExP: the server goes further along the mean change, the less the clients' changes agree.

    Delta = sum_i p_i Delta_i
    rate = max(1, sum_i ||Delta_i||^2 / (2 M (||Delta||^2 + eps)))
    x = x + rate Delta

over the M clients of the round, p_i = 1 / M. An algorithm in a file of its own: docs/own-algorithms.md.

External: Jhunjhunwala, Wang and Joshi (ICLR 2023), arXiv 2301.09604; its box from memory and from three public codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import stacked
from fedspec.arith import Scalar, Stack, Vector, maximum
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.domains import Dimension
from fedspec.entry import Algorithm, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import weighted_mean
from fedspec.plan import Inbox
from fedspec.readings import Weighting
from fedspec.rules import rule
from fedspec_suite.own import Mistake


@dataclass(frozen=True)
class FedExp(Hyper):
    """Hyper-parameters and readings of FedExP."""

    eta_l: Scalar
    eps: Scalar
    weights: Weighting = Weighting.UNIFORM


@dataclass(frozen=True)
class State:
    """The server's model."""

    x: Vector


@rule
def fedexp(state: State, deltas: Stack, delta: Vector, *, eps: Scalar) -> State:
    """One step of the server, from all changes and their mean.

        rate = max(1, sum_i ||Delta_i||^2 / (2 M (||Delta||^2 + eps)))      fedexp.rate
        x = x + rate Delta                                                  fedexp.step

    External: arXiv 2301.09604, Algorithm 1.
    """
    M = deltas.shape[0]
    rate = maximum((deltas**2).sum() / (2 * M * ((delta**2).sum() + eps)), 1)
    x = state.x + rate * delta
    return State(x=x)


def init(h: FedExp, x: Vector) -> State:
    """The model alone."""
    return State(x=x)


def server(h: FedExp, state: State, messages: Inbox) -> tuple[State, dict[str, Any]]:
    """Average the changes; step along the mean."""
    p, deltas = stacked(messages, h.weights, state.x)
    delta = weighted_mean(deltas, p)
    return fedexp(state, deltas, delta, eps=h.eps), {"delta": delta}


ROW = Algorithm(
    id="fedexp",
    family=Family.SERVERS,
    title="FedAvg with a server that extrapolates",
    source="external: Jhunjhunwala, Wang and Joshi (2023)",
    levels=("server", "round"),
    rules=(sgd, weighted_mean, fedexp),
    readings=(
        Reading(
            name="iclr-2023",
            words="x = x + max(1, sum_i ||Delta_i||^2 / (2 M (||Delta||^2 + eps))) Delta, p_i = 1 / M",
            fixes={"weights": "uniform"},
        ),
    ),
    shows=("delta",),
    run=Method(hyper=FedExp, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="d"),
    denies={
        Fact.PLAIN_MEAN: "its rate reads each change's norm",
        Fact.ADAPTIVE: "its eps keeps a rate finite; a step is as long as the changes",
        "coordinates": "its rate is one number over the whole model",
    },
    dimensions={"eps": Dimension.SQUARE},
    traps=(
        "both norms are over the whole model, not of each tensor",
        "the factor 2 stands under the sum, and max(1, ...) outside of it",
    ),
)

MUTANTS = (
    Mistake(id="fedexp-no-half", words="the factor 2 is forgotten", function=fedexp, old="(2 * M * (", new="(M * ("),
    Mistake(
        id="fedexp-norm-of-sum",
        words="the norm below is that of the sum of changes, not of their mean",
        function=fedexp,
        old="(delta**2).sum() + eps",
        new="((M * delta) ** 2).sum() + eps",
    ),
    Mistake(
        id="fedexp-no-maximum",
        words="the rate may be below 1",
        function=fedexp,
        old="maximum((deltas**2).sum() / (2 * M * ((delta**2).sum() + eps)), 1)",
        new="(deltas**2).sum() / (2 * M * ((delta**2).sum() + eps))",
    ),
)
