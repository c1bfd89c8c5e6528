"""CC-FedAvg: asynchronous clients with a server that adds the mean of a full buffer to its model.

    x_i = x_mu;  K times: x_i = x_i - eta_l g_i(x_i)
    Delta_i = (x_i - x_mu) / K
    when m of them wait:
        Delta = mean of the buffer, which is then emptied
        x = x + Delta

Source: Client-Centric, Alg. 3 (L149-181) and L97, L322.
"""

from __future__ import annotations

from dataclasses import dataclass

from fedspec import phrases
from fedspec.algorithms.buffered import Waiting, begin
from fedspec.algorithms.client_centric import PER_STEP, SYMBOLS, Step, Stepped, client_centric
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.plan import Arrival, Setup
from fedspec.population import Clients
from fedspec.readings import Normalise
from fedspec.server.average import average


@dataclass(frozen=True)
class CCFedAvg(Hyper):
    """Hyper-parameters of CC-FedAvg."""

    buffer: int
    eta_l: Scalar
    normalise: Normalise = Normalise.PER_STEP


def init(h: CCFedAvg, x: Vector, setup: Setup) -> Waiting:
    """Initial state: a server that keeps only its model."""
    return begin(x)


def cc_fedavg(h: CCFedAvg, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Process arrivals at CC-FedAvg."""

    def server(x: Vector, delta: Vector) -> Stepped:
        return average(x, delta, eta=1), {}

    return client_centric(h, state, clients, arrivals, server)


ROW = Algorithm(
    id="cc-fedavg",
    family=Family.ASYNCHRONOUS,
    place=1,
    title="client-centric FedAvg",
    source="Client-Centric, Alg. 3 (L149-181) and L97, L322",
    basis=Basis.READ,
    levels=("trace",),
    readings=(
        Reading(
            name="client-centric",
            words="changes per local step, a buffer of m, rate 1",
            fixes={"normalise": "per-step"},
        ),
        Reading(
            name="unnormalised",
            words="changes as they are, a buffer of m, rate 1: FedAvg as L322 calls it, but late",
            fixes={"normalise": "none"},
        ),
    ),
    run=Program(hyper=CCFedAvg, init=init, step=cc_fedavg, event="arrival"),
    symbols=SYMBOLS,
    costs=Costs(down="m d", up="m d", working="2 d", server="2 d", note=phrases.BUFFER_IS_A_SUM),
    traps=(phrases.OLD_MODEL, PER_STEP, "with eta = 1 and division by K a server step is one mean local step long"),
    facts=(Fact.AFFINE,),
)
