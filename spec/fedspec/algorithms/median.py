"""Coordinate-wise median: the server adds the median of the changes in each coordinate.

    Delta = med_i Delta_i                  (clients as in FedAvg)
    x = x + eta Delta                      (eta = 1)

The median of an even number of values is the mean of the two in the middle; clients are not weighed.

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
from fedspec.mixing.order import coordinate_median, lower_median
from fedspec.plan import Inbox
from fedspec.readings import Middle
from fedspec.server.average import average


@dataclass(frozen=True)
class Median(Hyper):
    """Hyper-parameters and readings of the coordinate-wise median."""

    eta_l: Scalar
    eta: Scalar = 1
    middle: Middle = Middle.MEAN


def init(h: Median, x: Vector) -> Vector:
    """Initial state: the server keeps only its model."""
    return x


def server(h: Median, x: Vector, messages: Inbox) -> tuple[Vector, dict[str, Any]]:
    """Take the median of the changes and add it."""
    deltas = together(messages).deltas
    delta = lower_median(deltas) if h.middle is Middle.LOWER else coordinate_median(deltas)
    return average(x, delta, eta=h.eta), {"delta": delta}


ROW = Algorithm(
    id="median",
    family=Family.SERVERS,
    aliases={"fedmedian": "Flower's name of it"},
    title="the median of the changes in each coordinate",
    source="external: Yin et al. (2018)",
    basis=Basis.CODE,
    levels=("server", "round"),
    readings=(
        Reading(
            name="mean-of-middle",
            formerly=("yin-2018",),
            words="the median of the changes in each coordinate, of an even number the mean of the two in the middle",
            fixes={"middle": "mean"},
        ),
        Reading(
            name="lower-middle",
            words="of an even number the smaller of the two in the middle, as torch.median gives it",
            fixes={"middle": "lower"},
        ),
    ),
    run=Method(hyper=Median, init=init, server=server, local=local_sgd, norm=sgd_norm, whole=True),
    costs=Costs(down="m d", up="m d", server="d"),
    traps=(
        phrases.DOWNHILL,
        "each coordinate has a median of its own: the result need not be a client's change",
        "of an even number of values there are two in the middle, and libraries differ in what they take",
        "sample sizes do not count: who claims more examples has no more say",
        "what is not trained has no median that makes sense: of counters it is no whole number",
    ),
)
