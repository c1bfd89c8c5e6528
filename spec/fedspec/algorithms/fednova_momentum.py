"""FedNova with server momentum; hybrid momentum if the local solver has momentum too.

    clients as in FedNova
    P = - tau_eff sum_i p_i eta_l d_i,  tau_eff = sum_i p_i ||a_i||_1
    v = beta v + P
    x = x + v

Source: FedNova, L204 and L244, in words: P "is used to update the server momentum buffer instead of directly updating
the server model". No value of beta is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fedspec.algorithms.local import READ_BY, local_norm, local_run
from fedspec.algorithms.synchronous import a_norms, stacked, together
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.nova import effective_steps, general_change, normalised_gradient
from fedspec.plan import Inbox
from fedspec.readings import BufferHolds, Solver, TauEff, Weighting
from fedspec.server.momentum import ServerMomentum
from fedspec.server.momentum import init as init_momentum
from fedspec.server.nova_momentum import nova_momentum


@dataclass(frozen=True)
class FedNovaMomentum(Hyper):
    """Hyper-parameters and readings of FedNova with server momentum; mu, rho and gamma are the local solver's."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = READ_BY

    eta_l: Scalar
    beta: Scalar
    mu: Scalar = 0
    rho: Scalar = 0
    gamma: Scalar = 1
    solver: Solver = Solver.SGD
    weights: Weighting = Weighting.EXAMPLES
    buffer_holds: BufferHolds = BufferHolds.CHANGES


def init(h: FedNovaMomentum, x: Vector) -> ServerMomentum:
    """Initial state: a momentum buffer of zeros."""
    return init_momentum(x)


def server(h: FedNovaMomentum, state: ServerMomentum, messages: Inbox) -> tuple[ServerMomentum, dict[str, Any]]:
    """Compute FedNova's change, update the momentum buffer with it, and step along the buffer."""
    p, deltas = stacked(messages, h.weights, state.x)
    a: Any = a_norms(messages, state.x)
    d = normalised_gradient(deltas, eta_l=h.eta_l, a_norm=a[:, None])
    tau_eff = effective_steps(p, a, together(messages).steps, TauEff.WEIGHTED_NORM)
    delta = general_change(d, p, tau_eff=tau_eff, eta_l=h.eta_l)
    return nova_momentum(state, delta, **h.of(nova_momentum)), {"tau_eff": tau_eff, "delta": delta}


ROW = Algorithm(
    id="fednova-momentum",
    family=Family.SERVERS,
    place=5,
    title="normalised averaging with server momentum; hybrid momentum with a momentum solver",
    source="FedNova, L204 and L244 (in words)",
    basis=Basis.READ,
    levels=("server", "round"),
    readings=(
        Reading(
            name="fednova",
            words="v = beta v + P, x = x + v, P the change that FedNova would make",
            fixes={"buffer_holds": "changes"},
        ),
        Reading(
            name="slowmo",
            words="v = beta v - P / eta_l, x = x - eta_l v (Wang et al., 2020); at level server eta_l counts as 1",
            fixes={"buffer_holds": "gradients"},
        ),
    ),
    run=Method(hyper=FedNovaMomentum, init=init, server=server, local=local_run, norm=local_norm),
    costs=Costs(down="m d", up="m (d + 1)", server="2 d"),
    traps=(
        "what enters the buffer is -tau_eff sum p_i eta_l d_i; the buffer lives from round to round",
        "with a rate that changes, a buffer of changes and one of gradients part ways",
        "hybrid momentum adds the clients' own, which is zeroed every round",
    ),
    symbols={"eta_l": "eta", "beta": "not named"},
)
