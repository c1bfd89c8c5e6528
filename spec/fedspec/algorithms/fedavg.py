"""FedAvg: local SGD steps, then the server adds the weighted mean of the clients' changes.

    for each participating client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i)
        Delta_i = x_i - x
    Delta = sum_i p_i Delta_i
    x = x + eta Delta                      (eta = 1)

Source: FedNova, eq. (2) (L52); external: McMahan et al. (2017).
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
from fedspec.readings import Weighting
from fedspec.server.average import average


@dataclass(frozen=True)
class FedAvg(Hyper):
    """Hyper-parameters of FedAvg."""

    eta_l: Scalar
    eta: Scalar = 1
    weights: Weighting = Weighting.EXAMPLES


def init(h: FedAvg, x: Vector) -> Vector:
    """Initial state: the server keeps only its model."""
    return x


def server(h: FedAvg, x: Vector, messages: Inbox) -> tuple[Vector, dict[str, Any]]:
    """Average the changes and add them."""
    delta = aggregate(messages, h.weights, x)
    return average(x, delta, eta=h.eta), {"delta": delta}


ROW = Algorithm(
    id="fedavg",
    family=Family.SERVERS,
    place=1,
    title="federated averaging",
    source="FedNova, eq. (2) (L52); external: McMahan et al. (2017)",
    basis=Basis.READ,
    levels=("server", "round"),
    readings=(Reading(name="mcmahan-2017", words="the mean of the changes, added with rate eta (1 as published)"),),
    run=Method(hyper=FedAvg, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="d"),
    traps=(phrases.DOWNHILL, "weights are n_i over the participants' sum, not over everybody's"),
    facts=(Fact.AFFINE, Fact.ISOTROPIC),
    symbols={"eta_l": "eta (FedNova)", "x": "x^(t,0) (FedNova)"},
)
