"""Client-centric federated optimisation: clients arrive at any time, with an old model and their own number of steps.

    Algorithm 3, CC-Local, of client i from version mu = t - tau_(t,i), K_(t,i) steps:
        x_i = x_mu;  K times: x_i = x_i - eta_l g_i(x_i)
        Delta_i = (x_i - x_mu) / K
    Algorithm 2, the server, when m updates wait:
        Delta = mean of the buffer, which is then emptied;  one step of the server

The servers and their rows are in cc_fedavg, cc_fedsgd, cc_fedavgm and cc_adaptive.

The conversion lost the box of Alg. 2; this one follows its text. Where the print differs: lines 8 and 9 of Alg. 3
(L173-175) have Delta_i = (x_mu - x_i) / K, with K_(l,i) for K_(t,i) in line 8, which the server subtracts; here every
change points downhill and is added, as in the paper's proof. K counts steps in Alg. 3 and epochs in the experiments
(L308). Source: Client-Centric, Alg. 3 (L149-181) and L145-189.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fedspec.algorithms.buffered import Waiting, check_room, collected
from fedspec.algorithms.synchronous import model
from fedspec.arith import Vector
from fedspec.client.sgd import sgd
from fedspec.mixing.arrivals import local_change
from fedspec.plan import Arrival, Oracle
from fedspec.population import Clients, each_arrival

Step = tuple[Waiting, dict[str, Any]]
Stepped = tuple[Any, dict[str, Any]]

SYMBOLS = {"delta_i": "-Delta^i_mu", "delta": "-Delta_t", "buffer": "m = |S_t|", "K": "K_(t,i)"}
"""Symbols of the paper that differ from ours, for the rows of all its algorithms."""

PER_STEP = "an update is divided by its own K, in steps, not by a sum of them; the buffer is divided by m"
RESCALE = "after division by K rates are about K times those of FedAvg, and tau 1/K of them"


def client_centric(
    h: Any, state: Waiting, clients: Clients, arrivals: Sequence[Arrival], server: Callable[[Any, Vector], Any]
) -> tuple[Waiting, dict[str, Any]]:
    """Algorithms 2 and 3: process arrivals that fit the buffer, with one server step if they fill it.

    Raises:
        PlanError: more updates arrive than the buffer has space for, or an arrival names a client or a version that
            doesn't exist.
    """
    check_room(h.buffer, state.pending, arrivals)

    def client(i: int, x_mu: Vector, gradient: Oracle, K: int) -> Vector:
        x = x_mu
        for k in range(K):
            x = sgd(x, gradient(k, x), eta_l=h.eta_l)
        return local_change(x, x_mu, steps=K, normalise=h.normalise)

    deltas = each_arrival(client, clients, arrivals, state.versions)
    pending, delta = collected(state.pending, deltas, m=h.buffer, like=state.x)
    if delta is None:
        return replace(state, pending=pending), {"delta_i": deltas[-1]}
    after, values = server(state.server, delta)
    versions = (*state.versions, model(after))
    return Waiting(server=after, versions=versions, pending=pending), {"delta_i": deltas[-1], "delta": delta, **values}
