"""CC-FedSGD: asynchronous clients with a server that steps along the mean of a full buffer.

    x_i = x_mu;  K times: x_i = x_i - eta_l g_i(x_i)
    Delta_i = (x_i - x_mu) / K
    when m of them wait:
        Delta = mean of the buffer, which is then emptied
        x = x + eta Delta

Source: Client-Centric, Alg. 3 (L149-181) and L334.
"""

from __future__ import annotations

from dataclasses import dataclass

from fedspec import phrases
from fedspec.algorithms.buffered import Waiting, begin
from fedspec.algorithms.client_centric import PER_STEP, RESCALE, SYMBOLS, Step, Stepped, client_centric
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
class CCFedSGD(Hyper):
    """Hyper-parameters of CC-FedSGD."""

    buffer: int
    eta_l: Scalar
    eta: Scalar
    normalise: Normalise = Normalise.PER_STEP


def init(h: CCFedSGD, x: Vector, setup: Setup) -> Waiting:
    """Initial state: a server that keeps only its model."""
    return begin(x)


def cc_fedsgd(h: CCFedSGD, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Process arrivals at CC-FedSGD."""

    def server(x: Vector, delta: Vector) -> Stepped:
        return average(x, delta, eta=h.eta), {}

    return client_centric(h, state, clients, arrivals, server)


ROW = Algorithm(
    id="cc-fedsgd",
    family=Family.ASYNCHRONOUS,
    place=2,
    title="client-centric FedSGD",
    source="Client-Centric, Alg. 3 (L149-181) and L334",
    basis=Basis.READ,
    levels=("trace",),
    readings=(
        Reading(name="client-centric", words="changes per local step, a buffer of m, their mean added with rate eta"),
    ),
    run=Program(hyper=CCFedSGD, init=init, step=cc_fedsgd, event="arrival"),
    symbols=SYMBOLS,
    costs=Costs(down="m d", up="m d", working="2 d", server="2 d", note=phrases.BUFFER_IS_A_SUM),
    traps=(phrases.OLD_MODEL, PER_STEP, RESCALE),
    facts=(Fact.AFFINE,),
)
