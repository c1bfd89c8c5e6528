"""Coordinate-wise trimmed mean: the mean of the changes without the largest and smallest values of each coordinate.

    b = floor(trim M)
    Delta = mean of all Delta_i but the b largest and the b smallest      (clients as in FedAvg)
    x = x + eta Delta                                                     (eta = 1)

over the M clients of the round, who are not weighed.

External: Yin et al. (2018), arXiv 1803.01498, with one local step and eta_l for its rate; the box as two unrelated
packages compute it, flwr 1.41.0 and byzfl 0.0.11, of which both were run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import together
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.order import left_out, trimmed_mean
from fedspec.plan import Inbox
from fedspec.server.average import average


@dataclass(frozen=True)
class TrimmedMean(Hyper):
    """Hyper-parameters of the coordinate-wise trimmed mean."""

    eta_l: Scalar
    trim: Scalar
    eta: Scalar = 1


def init(h: TrimmedMean, x: Vector) -> Vector:
    """Initial state: the server keeps only its model."""
    return x


def server(h: TrimmedMean, x: Vector, messages: Inbox) -> tuple[Vector, dict[str, Any]]:
    """Take the trimmed mean of the changes and add it."""
    sent = together(messages)
    delta = trimmed_mean(sent.deltas, b=left_out(h.trim, len(sent.steps)))
    x = average(x, delta, eta=h.eta)
    return x, {"delta": delta}


ROW = Algorithm(
    id="trimmed-mean",
    family=Family.SERVERS,
    aliases={"fedtrimmedavg": "Flower's name of it"},
    title="the mean of the changes in each coordinate, without the largest and the smallest",
    source="external: Yin et al. (2018)",
    basis=Basis.CODE,
    levels=("server", "round"),
    readings=(
        Reading(
            name="rounded-down",
            formerly=("yin-2018",),
            words="the mean of what is left of each coordinate without floor(trim M) of the values at either end",
        ),
    ),
    run=Method(hyper=TrimmedMean, init=init, server=server, local=local_sgd, norm=sgd_norm, whole=True),
    costs=Costs(down="m d", up="m d", server="d"),
    traps=(
        phrases.DOWNHILL,
        "trim M is left out at either end, not at both together",
        "the sum is divided by how many are kept; (1 - 2 trim) M is another number unless trim M is whole",
        "values are left out, in each coordinate others, and not clients",
        "what is kept is added up: the sum of all less the extremes loses the rest beside one huge value",
        "floor(trim M) is that of the product of floats, 3 for 0.3 and 10, though 0.3 in binary is a little less",
    ),
    symbols={"trim": "beta"},
)
