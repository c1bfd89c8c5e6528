"""FedAvgM: FedAvg with momentum on the server.

    Delta = sum_i p_i Delta_i              (clients as in FedAvg)
    v = beta v + Delta
    x = x + eta v

Source: FedNova, L204 and L244 (in words); external: Hsu, Qi and Brown (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import weighted_mean
from fedspec.plan import Message
from fedspec.readings import MomentumForm, Weighting
from fedspec.server.momentum import ServerMomentum, server_momentum
from fedspec.server.momentum import init as init_momentum


@dataclass(frozen=True)
class FedAvgM(Hyper):
    """Hyper-parameters and readings of FedAvgM."""

    eta_l: Scalar
    eta: Scalar
    beta: Scalar
    momentum: MomentumForm = MomentumForm.HEAVY_BALL
    weights: Weighting = Weighting.EXAMPLES


def init(h: FedAvgM, x: Vector) -> ServerMomentum:
    """An empty buffer."""
    return init_momentum(x)


def server(h: FedAvgM, state: ServerMomentum, messages: Sequence[Message]) -> tuple[ServerMomentum, dict[str, Any]]:
    """Average the changes, feed the buffer, step."""
    delta = aggregate(messages, h.weights)
    return server_momentum(state, delta, **h.of(server_momentum)), {"delta": delta}


ROW = Algorithm(
    id="fedavgm",
    family=Family.SERVERS,
    place=2,
    title="FedAvg with server momentum",
    source="FedNova, L204 and L244 (in words); external: Hsu, Qi and Brown (2019)",
    levels=("server", "round"),
    rules=(sgd, weighted_mean, server_momentum),
    readings=(Reading(name="hsu-2019", words="v = beta v + Delta, x = x + eta v; Nesterov: x + eta (Delta + beta v)"),),
    shows=("delta", "v"),
    run=Method(hyper=FedAvgM, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="2 d"),
    traps=(
        "the buffer lives from round to round, that of a client does not",
        "v = beta v + Delta is not dampened; with 1 - beta the rate means something else",
    ),
    facts=(Fact.ISOTROPIC,),
)
