"""FedAvgM: FedAvg with momentum on the server.

    Delta = sum_i p_i Delta_i              (clients as in FedAvg)
    v = beta v + Delta                     (Client-Centric: beta v + (1 - beta) Delta)
    x = x + eta v

Client-Centric calls its momentum m and averages; the models are the same where the rate of the sum is eta (1 - beta).
Source: FedNova, L204 and L244 (in words); Client-Centric, L97-111 and L554; external: Hsu, Qi and Brown (2019).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.plan import Inbox
from fedspec.readings import MomentumForm, MomentumSum, Weighting
from fedspec.server.averaged_momentum import averaged_momentum
from fedspec.server.momentum import ServerMomentum, server_momentum
from fedspec.server.momentum import init as init_momentum


@dataclass(frozen=True)
class FedAvgM(Hyper):
    """Hyper-parameters and readings of FedAvgM."""

    eta_l: Scalar
    eta: Scalar
    beta: Scalar
    momentum: MomentumForm = MomentumForm.HEAVY_BALL
    momentum_sum: MomentumSum = MomentumSum.SUM
    weights: Weighting = Weighting.EXAMPLES

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {"momentum": ("momentum_sum=sum",)}


def init(h: FedAvgM, x: Vector) -> ServerMomentum:
    """Initial state: the given model and a momentum of zero."""
    return init_momentum(x)


def server(h: FedAvgM, state: ServerMomentum, messages: Inbox) -> tuple[ServerMomentum, dict[str, Any]]:
    """Average the changes, update the momentum buffer and step."""
    delta = aggregate(messages, h.weights, state.x)
    if h.momentum_sum is MomentumSum.AVERAGE:
        return averaged_momentum(state, delta, eta=h.eta, beta=h.beta), {"delta": delta}
    return server_momentum(state, delta, eta=h.eta, beta=h.beta, momentum=h.momentum), {"delta": delta}


ROW = Algorithm(
    id="fedavgm",
    family=Family.SERVERS,
    place=2,
    title="FedAvg with server momentum",
    source="FedNova, L204 and L244 (in words); Client-Centric, L97-111; external: Hsu, Qi and Brown (2019)",
    basis=Basis.MEMORY,
    levels=("server", "round"),
    readings=(
        Reading(
            name="hsu-2019",
            words="v = beta v + Delta, x = x + eta v; Nesterov: x + eta (Delta + beta v)",
            fixes={"momentum_sum": "sum"},
        ),
        Reading(
            name="client-centric",
            words="v = beta v + (1 - beta) Delta, x = x + eta v, heavy ball only (Client-Centric, L107-111 and L554)",
            fixes={"momentum_sum": "average"},
        ),
    ),
    run=Method(hyper=FedAvgM, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="2 d"),
    traps=(
        "the buffer lives from round to round, that of a client does not",
        "v = beta v + Delta is not dampened; with 1 - beta the rate means something else",
    ),
    facts=(Fact.ISOTROPIC,),
    symbols={"v": "m_t (Client-Centric)", "eta_l": "eta (FedNova)"},
)
