"""RFA: the server steps to the geometric median of the changes, approximated by a few passes.

    z = sum_i p_i Delta_i                                                 (clients as in FedAvg)
    T times:  beta_i = p_i / max(nu, ||z - Delta_i||)
              z = sum_i beta_i Delta_i / sum_i beta_i
    x = x + eta z                                                         (eta = 1)

The point that all p_i ||z - Delta_i|| together are least at is the geometric median; nu keeps the weights finite. The
authors' script stops before T passes where the sum of distances falls by less than a millionth; the box does not,
and no case that the judge draws shows whether a server does.

External: Pillutla, Kakade and Harchaoui (2022), arXiv 1912.13445, over FedAvg's clients; the box as the authors' script
krishnap25/RFA (models/model.py at 8435c86) has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import together
from fedspec.arith import Scalar, Vector, zeros
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.distances import weiszfeld
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Inbox
from fedspec.readings import Origin, Weighting
from fedspec.server.average import average


@dataclass(frozen=True)
class GeometricMedian(Hyper):
    """Hyper-parameters and readings of the geometric median."""

    eta_l: Scalar
    smooth: Scalar
    passes: int
    eta: Scalar = 1
    weights: Weighting = Weighting.EXAMPLES
    origin: Origin = Origin.MEAN


def init(h: GeometricMedian, x: Vector) -> Vector:
    """Initial state: the server keeps only its model."""
    return x


def server(h: GeometricMedian, x: Vector, messages: Inbox) -> tuple[Vector, dict[str, Any]]:
    """Run some Weiszfeld passes from the mean of the changes or from zero, and add the result to the model."""
    sent = together(messages)
    p, deltas = shares(sent.examples, x, h.weights, sent.steps), sent.deltas
    delta = weighted_mean(deltas, p) if h.origin is Origin.MEAN else zeros(x)
    for _ in range(h.passes):
        delta = weiszfeld(delta, deltas, p, smooth=h.smooth)
    return average(x, delta, eta=h.eta), {"delta": delta}


ROW = Algorithm(
    id="geometric-median",
    family=Family.SERVERS,
    aliases={"rfa": "robust federated aggregation, as Pillutla, Kakade and Harchaoui call it"},
    title="the geometric median of the changes",
    source="external: Pillutla, Kakade and Harchaoui (2022)",
    basis=Basis.CODE,
    levels=("server", "round"),
    readings=(
        Reading(
            name="pillutla-2022-code",
            formerly=("pillutla-2022",),
            words="T passes of the smoothed Weiszfeld algorithm from the mean, the p_i by examples",
            fixes={"weights": "examples", "origin": "mean"},
        ),
        Reading(
            name="from-zero",
            words="from no change and with equal p_i, as in byzfl 0.0.11 and epfml/byzantine-robust-optimizer",
            fixes={"weights": "uniform", "origin": "zero"},
        ),
    ),
    run=Method(
        hyper=GeometricMedian,
        init=init,
        server=server,
        local=local_sgd,
        norm=sgd_norm,
        whole=True,
    ),
    costs=Costs(down="m d", up="m d", server="d"),
    facts=(Fact.ISOTROPIC,),
    denies={
        Fact.PLAIN_MEAN: "its weights fall with the distance from the mean",
        "coordinates": "its weights are of whole changes",
    },
    traps=(
        phrases.DOWNHILL,
        "every pass divides the p_i themselves; weights that are divided again and again lead to the nearest change",
        "distances are over the whole model: a median of each tensor is another, and so is one of each coordinate",
        "max(nu, distance) stands below the line; nu added to the distance moves every weight",
        "T passes are not the median: of two places with shares r to 1 they leave r^(T + 1) to 1",
        "what is not trained does not enter the distances",
    ),
    symbols={"smooth": "nu", "passes": "T", "delta": "z"},
)
