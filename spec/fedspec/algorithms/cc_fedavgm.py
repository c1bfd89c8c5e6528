"""CC-FedAvgM: asynchronous clients with a server that has momentum.

    x_i = x_mu;  K times: x_i = x_i - eta_l g_i(x_i)
    Delta_i = (x_i - x_mu) / K
    when m of them wait:
        Delta = mean of the buffer, which is then emptied
        v = beta v + (1 - beta) Delta
        x = x + eta v

The momentum v is the paper's m. Source: Client-Centric, Alg. 3 (L149-181) and L107-111, L554.
"""

from __future__ import annotations

from dataclasses import dataclass

from fedspec import phrases
from fedspec.algorithms.buffered import Waiting, begin
from fedspec.algorithms.client_centric import PER_STEP, SYMBOLS, Step, Stepped, client_centric
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.plan import Arrival, Setup
from fedspec.population import Clients
from fedspec.readings import MomentumSum, Normalise
from fedspec.server.averaged_momentum import averaged_momentum
from fedspec.server.momentum import ServerMomentum, server_momentum
from fedspec.server.momentum import init as init_momentum


@dataclass(frozen=True)
class CCFedAvgM(Hyper):
    """Hyper-parameters of CC-FedAvgM."""

    buffer: int
    eta_l: Scalar
    eta: Scalar
    beta: Scalar
    momentum_sum: MomentumSum = MomentumSum.AVERAGE
    normalise: Normalise = Normalise.PER_STEP


def init(h: CCFedAvgM, x: Vector, setup: Setup) -> Waiting:
    """Initial state: no momentum."""
    return begin(init_momentum(x))


def cc_fedavgm(h: CCFedAvgM, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Process arrivals at CC-FedAvgM."""
    step = averaged_momentum if h.momentum_sum is MomentumSum.AVERAGE else server_momentum

    def server(s: ServerMomentum, delta: Vector) -> Stepped:
        s = step(s, delta, eta=h.eta, beta=h.beta)
        return s, {"v": s.v}

    return client_centric(h, state, clients, arrivals, server)


ROW = Algorithm(
    id="cc-fedavgm",
    family=Family.ASYNCHRONOUS,
    place=3,
    title="client-centric FedAvgM",
    source="Client-Centric, Alg. 3 (L149-181) and L107-111, L554",
    basis=Basis.READ,
    levels=("trace",),
    readings=(
        Reading(
            name="client-centric",
            words="changes per local step, a buffer of m, momentum (1 - beta) Delta + beta v",
            fixes={"momentum_sum": "average"},
        ),
        Reading(
            name="hsu-2019",
            words="changes per local step, a buffer of m, momentum Delta + beta v (Hsu et al., 2019)",
            fixes={"momentum_sum": "sum"},
        ),
    ),
    run=Program(hyper=CCFedAvgM, init=init, step=cc_fedavgm, event="arrival"),
    symbols={**SYMBOLS, "v": "m_t"},
    costs=Costs(down="m d", up="m d", working="2 d", server="3 d", note=phrases.BUFFER_IS_A_SUM),
    traps=(phrases.OLD_MODEL, PER_STEP, "the paper's buffer averages, v = beta v + (1 - beta) Delta; Hsu's sums"),
)
