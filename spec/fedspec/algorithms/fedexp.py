"""FedExP: a server that steps further along the mean change the less the clients' changes agree.

    Delta = sum_i p_i Delta_i                                            (clients as in FedAvg)
    rate = max(1, sum_i p_i ||Delta_i||^2 / (2 (||Delta||^2 + eps)))
    x = x + rate Delta

with p_i = 1 / M over the M clients of the round.

External: Jhunjhunwala, Wang and Joshi (2023), arXiv 2301.09604. The rate as makgyver/fluke
has it (fluke/algorithms/fedexp.py at 0196ce2, there of each tensor by itself); the authors' script has eps times the
number of clients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import together
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.domains import Dimension
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.extrapolated import extrapolated
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Inbox
from fedspec.readings import Weighting


@dataclass(frozen=True)
class FedExp(Hyper):
    """Hyper-parameters and readings of FedExP."""

    eta_l: Scalar
    eps: Scalar
    weights: Weighting = Weighting.UNIFORM


def init(h: FedExp, x: Vector) -> Vector:
    """Initial state: the server keeps only its model."""
    return x


def server(h: FedExp, x: Vector, messages: Inbox) -> tuple[Vector, dict[str, Any]]:
    """Average the changes; step along the mean, at a rate computed from all changes."""
    sent = together(messages)
    p = shares(sent.examples, x, h.weights, sent.steps)
    delta = weighted_mean(sent.deltas, p)
    x, rate = extrapolated(x, sent.deltas, delta, p, eps=h.eps)
    return x, {"delta": delta, "rate": rate}


ROW = Algorithm(
    id="fedexp",
    family=Family.SERVERS,
    title="FedAvg with a server that extrapolates",
    source="external: Jhunjhunwala, Wang and Joshi (2023)",
    basis=Basis.CODE,
    levels=("server", "round"),
    readings=(
        Reading(
            name="uniform",
            formerly=("jhunjhunwala-2023",),
            words="x = x + max(1, sum_i ||Delta_i||^2 / (2 M (||Delta||^2 + eps))) Delta, p_i = 1 / M",
            fixes={"weights": "uniform"},
        ),
        Reading(
            name="weighted",
            words="p_i = n_i / sum of n_j in both sums, as in the authors' script, but eps once, not for each client",
            fixes={"weights": "examples"},
        ),
    ),
    run=Method(hyper=FedExp, init=init, server=server, local=local_sgd, norm=sgd_norm, whole=True),
    costs=Costs(down="m d", up="m d", server="d"),
    facts=(Fact.ISOTROPIC,),
    denies={
        Fact.PLAIN_MEAN: "its rate reads each change's length",
        Fact.ADAPTIVE: "its eps keeps a rate finite; a step is as long as the changes",
        "coordinates": "its rate is one number over the whole model",
    },
    dimensions={"eps": Dimension.SQUARE},
    traps=(
        "both lengths are over the whole model, not of each tensor, and what is not trained does not enter",
        "the factor 2 stands under the sum, and max(1, ...) outside of it",
        "eps is added once: the authors' script adds it once for each client",
        "a rate above 1 is for what is trained: running variances that it moves may fall below 0",
        "the authors report the mean of the last two models; training goes on from the last",
    ),
    symbols={"rate": "eta_g"},
)
