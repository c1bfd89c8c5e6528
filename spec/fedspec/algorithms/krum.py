"""Krum: the server applies a single change, the one with the nearest neighbours.

    s_i = sum over the n - f - 2 nearest j of ||Delta_i - Delta_j||^2      (clients as in FedAvg)
    Delta = Delta_i, where s_i is smallest, of equal ones the first
    x = x + eta Delta                                                      (eta = 1)

over the n clients of the round, who are not weighed; f of them may send anything, and n > 2 f + 2. Where there are
fewer, the nearest neighbour counts, as in flwr.

External: Blanchard et al. (2017), arXiv 1703.02757, of which v1 was opened (sec. 4: squared distances to the n - f - 2
closest, of equal scores the smallest number), with one local step and eta_l for its rate. flwr 1.41.0
(server/strategy/aggregate.py) and FedML (krum_defense.py) have the same.
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
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.nearest import krum, krum_scores
from fedspec.plan import Inbox
from fedspec.readings import Distance, Neighbours
from fedspec.server.average import average


@dataclass(frozen=True)
class Krum(Hyper):
    """Hyper-parameters and readings of Krum."""

    eta_l: Scalar
    f: int
    eta: Scalar = 1
    neighbours: Neighbours = Neighbours.PUBLISHED
    distance: Distance = Distance.SQUARED


def init(h: Krum, x: Vector) -> Vector:
    """Initial state: the server keeps only its model."""
    return x


def server(h: Krum, x: Vector, messages: Inbox) -> tuple[Vector, dict[str, Any]]:
    """Select the change with the nearest neighbours and add it."""
    deltas = together(messages).deltas
    s = krum_scores(deltas, f=h.f, neighbours=h.neighbours, distance=h.distance)
    delta = krum(deltas, s)
    return average(x, delta, eta=h.eta), {"delta": delta}


ONE_MORE = Reading(
    name="byzfl",
    words="n - f - 1 others, as byzfl 0.0.11 has it, which counts a change among its own n - f nearest",
    fixes={"neighbours": "n-f-1", "distance": "squared"},
)
PLAIN = Reading(
    name="byzantine-momentum",
    words="n - f - 1 others, and distances as they are: LPD-EPFL/ByzantineMomentum, by authors of the paper",
    fixes={"neighbours": "n-f-1", "distance": "plain"},
)
PUBLISHED = {"neighbours": "n-f-2", "distance": "squared"}

TRAPS = (
    phrases.DOWNHILL,
    "distances are squared once: of ||.||^4 another change is the winner",
    "a change is none of its own neighbours",
    "distances are over the whole model, not of each tensor, and what is not trained does not enter",
    "||a||^2 + ||b||^2 - 2 ab in single precision loses the distance of long vectors that are close to each other",
    "n counts the messages of this round, and the rule asks for n > 2 f + 2, which some implementations do not check",
)

ROW = Algorithm(
    id="krum",
    family=Family.SERVERS,
    title="the one change with the nearest neighbours",
    source="external: Blanchard et al. (2017)",
    basis=Basis.READ,
    levels=("server", "round"),
    readings=(
        Reading(
            name="blanchard-2017",
            words="the change with the least sum of squared distances to the n - f - 2 others that are nearest to it",
            fixes=PUBLISHED,
        ),
        ONE_MORE,
        PLAIN,
    ),
    run=Method(hyper=Krum, init=init, server=server, local=local_sgd, norm=sgd_norm, whole=True),
    costs=Costs(down="m d", up="m d", server="d"),
    facts=(Fact.ISOTROPIC,),
    traps=(
        *TRAPS,
        "of equal scores the first is taken: two clients that are each other's nearest tie where one neighbour counts",
    ),
)
