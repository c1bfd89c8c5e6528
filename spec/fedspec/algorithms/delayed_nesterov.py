"""Delayed Nesterov: asynchronous DiLoCo; the server applies each late change at once, momentum steps at every N-th.

    x_i = x_mu;  K times: x_i = x_i - eta_l g_i(x_i)
    Delta_i = x_i - x_mu
    Delta = Delta + Delta_i
    at every N-th arrival:
        m = beta m + Delta / N;  Delta = 0
        x = x + eta ((1 - c N + c) beta m + Delta_i / N)
    at every other one:
        x = x + eta (c beta m + Delta_i / N)

c activates the momentum between its own steps: with c = 0 it is not felt there, with c = 1 / N the same in all N.
The paper's changes point uphill (old minus new) and are subtracted; here they point downhill, so m is minus its m.

External: Liu et al. (2024), Asynchronous Local-SGD Training for Language Modeling, arXiv 2401.09135, of which v2 was
opened: the box is its Algorithm 3, with c in [0, 1 / N], by default 0. Two unrelated implementations have it too:
``utnslab/halos`` at 4b5bf73, ``src/halos/opt.py``, lines 78-119, and, for c = 0, ``PanocularAI/torchft`` at 429a9db,
``torchft/async_diloco.py``, ``DelayedNesterovOptimizer.step``. Clients take SGD steps here, and AdamW's there; with how
many steps a client of some speed comes (its dynamic local updates, eq. (6)) is the plan's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.arith import Scalar, Vector
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.plan import Arrival, Oracle, Setup
from fedspec.population import Clients, each_arrival
from fedspec.records import record
from fedspec.rules import rule
from fedspec.server.delayed_nesterov import DelayedNesterov, between, delayed
from fedspec.server.delayed_nesterov import init as init_server


@dataclass(frozen=True)
class AsyncDiLoCo(Hyper):
    """Hyper-parameters of asynchronous DiLoCo; N and c are the paper's buffer size and momentum activation."""

    N: int
    eta_l: Scalar
    eta: Scalar
    beta: Scalar
    c: Scalar = 0


@record
class Served:
    """The server's state and all versions of its model."""

    server: DelayedNesterov
    versions: tuple[Vector, ...]

    @property
    def x(self) -> Vector:
        """The newest version of the model."""
        return self.versions[-1]


@rule
def sent(x: Vector, x_mu: Vector) -> Vector:
    """Message of a client: its model minus the version that it downloaded.

        Delta_i = x_i - x_mu                       delayed-nesterov.delta_i

    External: Liu et al. (2024), with the other sign.
    """
    return x - x_mu


def init(h: AsyncDiLoCo, x: Vector, setup: Setup) -> Served:
    """Initial state: the first version of the model, and no momentum."""
    return Served(server=init_server(x), versions=(x,))


def step(h: AsyncDiLoCo, state: Served, clients: Clients, arrival: Arrival) -> tuple[Served, dict[str, Any]]:
    """Process one arrival: the client's local steps, then a server step."""

    def client(i: int, x_mu: Vector, gradient: Oracle, K: int) -> Vector:
        x = x_mu
        for k in range(K):
            x = sgd(x, gradient(k, x), eta_l=h.eta_l)
        return sent(x, x_mu)

    delta_i = each_arrival(client, clients, [arrival], state.versions)[0]
    update = delayed if state.server.t + 1 == h.N else between
    server = update(state.server, delta_i, eta=h.eta, beta=h.beta, c=h.c, N=h.N)
    return Served(server=server, versions=(*state.versions, server.x)), {"delta_i": delta_i, "m": server.m}


ROW = Algorithm(
    id="delayed-nesterov",
    family=Family.ASYNCHRONOUS,
    place=9,
    title="asynchronous DiLoCo: Nesterov momentum that moves at every N-th late update",
    source="external: Liu et al. (2024), Algorithm 3",
    basis=Basis.READ,
    levels=("trace",),
    readings=(
        Reading(
            name="liu-2024",
            words="each change over N at once, the momentum after N of them, c of it felt in between (usually 0)",
        ),
    ),
    run=Program(hyper=AsyncDiLoCo, init=init, step=step, event="arrival"),
    symbols={"eta": "epsilon", "delta_i": "-Delta_i", "m": "-m", "K": "H"},
    usual={"eta": 0.7, "N": 5},
    costs=Costs(down="d", up="d", working="2 d", server="3 d", note="a server step at every arrival"),
    traps=(
        phrases.OLD_MODEL,
        "a change is counted at once, over N, and once more in the momentum; in the model's own step never whole",
        "the momentum takes the mean of the N changes, not the last alone",
        "the step that moves the momentum uses the new one, the steps between it the old one",
    ),
)
