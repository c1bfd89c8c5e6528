"""SlowMo: local SGD with a slow server momentum whose buffer holds gradients instead of changes.

    Delta = 1/|S| sum_i Delta_i            (clients as in FedAvg)
    v = beta v - Delta / eta_l
    x = x - eta eta_l v

eta_l is the clients' rate of this round, so that the buffer's old gradients count as new ones do where the rate falls;
where it stays this is FedAvgM. The paper's base optimiser may be another; here it is SGD, and the mean is over equal
clients, as among workers.

External: Wang, Tantia, Ballas and Rabbat (2020), "SlowMo: Improving Communication-Efficient Distributed SGD with Slow
Momentum", arXiv 1910.00643, named by FedNova, L204. The box is that of two codes that agree: facebookresearch/fairscale
at 146f160 (fairscale/experimental/nn/data_parallel/gossip/distributed.py:796-801) and pytorch/torchdistx at 3208d8e
(src/python/torchdistx/slowmo/slowmo_optimizer.py, step). The latter's first slow step comes after one local step more
than the others.
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
from fedspec.server.momentum import ServerMomentum
from fedspec.server.momentum import init as init_momentum
from fedspec.server.slow_momentum import slow_momentum


@dataclass(frozen=True)
class SlowMo(Hyper):
    """Hyper-parameters and readings of SlowMo."""

    eta_l: Scalar
    eta: Scalar
    beta: Scalar
    weights: Weighting = Weighting.UNIFORM


def init(h: SlowMo, x: Vector) -> ServerMomentum:
    """Initial state: a momentum buffer of zeros."""
    return init_momentum(x)


def server(h: SlowMo, state: ServerMomentum, messages: Inbox) -> tuple[ServerMomentum, dict[str, Any]]:
    """Average the changes, update the buffer with them as gradients, and step along the buffer."""
    delta = aggregate(messages, h.weights, state.x)
    return slow_momentum(state, delta, eta_l=h.eta_l, eta=h.eta, beta=h.beta), {"delta": delta}


ROW = Algorithm(
    id="slowmo",
    family=Family.SERVERS,
    title="local SGD with slow momentum over gradients",
    source="external: Wang, Tantia, Ballas and Rabbat (2020); named by FedNova, L204",
    basis=Basis.CODE,
    levels=("server", "round"),
    readings=(
        Reading(
            name="fairscale",
            formerly=("wang-2020",),
            words="v = beta v - Delta / eta_l, x = x - eta eta_l v; at level server eta_l counts as 1",
        ),
    ),
    run=Method(hyper=SlowMo, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="2 d"),
    facts=(Fact.ISOTROPIC,),
    traps=(
        phrases.DOWNHILL,
        "a buffer of changes is another algorithm as soon as eta_l changes: it holds old changes at their old rates",
        "eta_l of this round divides and multiplies; with the rate of the first round the step has the wrong length",
        "the buffer lives from round to round, and is not the momentum of the clients' own optimiser",
    ),
    symbols={"v": "u", "eta_l": "gamma", "eta": "alpha"},
)
