"""Multi-Krum: the server applies the mean of the changes that have the nearest neighbours.

    s_i = sum over the n - f - 2 nearest j of ||Delta_i - Delta_j||^2      (clients as in FedAvg)
    Delta = sum p_i Delta_i / sum p_i over the i with the m smallest s_i   (p_i = 1 / n)
    x = x + eta Delta                                                      (eta = 1)

as in Krum, which it is for m = 1; of fewer than m clients all are kept.

External: Blanchard et al. (2017), arXiv 1703.02757, with one local step and eta_l for its rate. The text that names
Multi-Krum was not opened, but v1: its m-Krum (sec. 6) takes one change by Krum, removes it and scores the rest again;
to take the m best of one scoring, as here, is an alternative there (sec. 7). The box follows byzfl 0.0.11 and
LPD-EPFL/ByzantineMomentum, which agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.krum import ONE_MORE, PLAIN, PUBLISHED, TRAPS
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import together
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.nearest import krum_scores, multi_krum
from fedspec.mixing.weighted import shares
from fedspec.plan import Inbox
from fedspec.readings import Distance, Neighbours, Weighting
from fedspec.server.average import average


@dataclass(frozen=True)
class MultiKrum(Hyper):
    """Hyper-parameters and readings of Multi-Krum."""

    eta_l: Scalar
    f: int
    keep: int
    eta: Scalar = 1
    neighbours: Neighbours = Neighbours.PUBLISHED
    distance: Distance = Distance.SQUARED
    weights: Weighting = Weighting.UNIFORM


def init(h: MultiKrum, x: Vector) -> Vector:
    """Initial state: the server keeps only its model."""
    return x


def server(h: MultiKrum, x: Vector, messages: Inbox) -> tuple[Vector, dict[str, Any]]:
    """Add the mean of the changes with the nearest neighbours."""
    sent = together(messages)
    p, deltas = shares(sent.examples, x, h.weights, sent.steps), sent.deltas
    s = krum_scores(deltas, f=h.f, neighbours=h.neighbours, distance=h.distance)
    delta = multi_krum(deltas, s, p, keep=h.keep)
    return average(x, delta, eta=h.eta), {"delta": delta}


UNIFORM = {"weights": "uniform"}

ROW = Algorithm(
    id="multi-krum",
    family=Family.SERVERS,
    title="the mean of the changes with the nearest neighbours",
    source="external: Blanchard et al. (2017)",
    basis=Basis.CODE,
    levels=("server", "round"),
    readings=(
        Reading(
            name="one-scoring",
            formerly=("blanchard-2017",),
            words="the plain mean of the m changes with the least sums of squared distances to n - f - 2 others",
            fixes={**PUBLISHED, **UNIFORM},
        ),
        Reading(
            name="weighted",
            words="the same changes, weighed by examples, as in flwr",
            fixes={**PUBLISHED, "weights": "examples"},
        ),
        Reading(name=ONE_MORE.name, words=ONE_MORE.words, fixes={**ONE_MORE.fixes, **UNIFORM}),
        Reading(name=PLAIN.name, words=PLAIN.words, fixes={**PLAIN.fixes, **UNIFORM}),
    ),
    run=Method(hyper=MultiKrum, init=init, server=server, local=local_sgd, norm=sgd_norm, whole=True),
    costs=Costs(down="m d", up="m d", server="d"),
    facts=(Fact.ISOTROPIC,),
    denies={"client-split": "two halves of a client are each other's nearest"},
    traps=(
        *TRAPS,
        "those that are kept are not weighed: who is kept and claims many examples would have most of the mean",
        "the sum of those that are kept is divided by how many they are",
    ),
    symbols={"keep": "m"},
)
