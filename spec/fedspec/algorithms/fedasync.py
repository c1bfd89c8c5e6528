"""FedAsync: the server mixes every arriving model into its own at once; a relative of the client-centric algorithms.

    x_i = x_mu;  K times: x_i = x_i - eta_l (g_i(x_i) + mu (x_i - x_mu))
    mix_t = mix s(u)
    x = (1 - mix_t) x + mix_t x_i

It mixes models, not changes: with a late x_i the server's model moves even where the client did not.
External: Xie, Koyejo and Gupta (2019), Algorithm 1; Client-Centric names it and does not define it (L390-392).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fedspec.arith import Scalar, Vector
from fedspec.client.proximal import proximal_sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import NOT_GIVEN, Hyper
from fedspec.mixing.arrivals import READ_BY, discount, mixed
from fedspec.plan import Arrival, Oracle, Setup
from fedspec.population import Clients, each_arrival
from fedspec.readings import Age, Staleness
from fedspec.records import record


@dataclass(frozen=True)
class FedAsync(Hyper):
    """Hyper-parameters of FedAsync; mix and mu are the paper's alpha and rho."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **READ_BY,
        "age": ("staleness=polynomial", "staleness=hinge"),
    }

    eta_l: Scalar
    mu: Scalar
    mix: Scalar
    twice_a: int = NOT_GIVEN
    hinge_a: Scalar = NOT_GIVEN
    hinge_b: int = NOT_GIVEN
    staleness: Staleness = Staleness.CONSTANT
    age: Age = Age.DELAY


@record
class Versions:
    """All versions of the model, oldest first."""

    versions: tuple[Vector, ...]

    @property
    def x(self) -> Vector:
        """The newest version of the model."""
        return self.versions[-1]


def init(h: FedAsync, x: Vector, setup: Setup) -> Versions:
    """Initial state: the first version of the model."""
    return Versions((x,))


def step(h: FedAsync, state: Versions, clients: Clients, arrival: Arrival) -> tuple[Versions, dict[str, Any]]:
    """Process one arrival: the client's local steps, then a server step."""

    def client(i: int, x_mu: Vector, gradient: Oracle, K: int) -> Vector:
        x = x_mu
        for k in range(K):
            x = proximal_sgd(x, gradient(k, x), x_mu, eta_l=h.eta_l, mu=h.mu)
        return x

    x_i = each_arrival(client, clients, [arrival], state.versions)[0]
    mix_t = discount(h.mix, delay=arrival.delay, **h.of(discount))
    x = mixed(state.x, x_i, mix=mix_t)
    return Versions((*state.versions, x)), {"mix_t": mix_t}


ROW = Algorithm(
    id="fedasync",
    family=Family.ASYNCHRONOUS,
    place=8,
    title="asynchronous federated optimisation by mixing models",
    source="external: Xie, Koyejo and Gupta (2019), Algorithm 1; named in Client-Centric (L390-392)",
    basis=Basis.MEMORY,
    levels=("trace",),
    readings=(
        Reading(
            name="xie-2019", words="a constant weight (FedAsync+Const)", fixes={"staleness": "constant", "age": "delay"}
        ),
        Reading(
            name="xie-2019-polynomial",
            words="the weight times (1 + u)^(-a), u = 0 for an update that is not late (FedAsync+Poly)",
            fixes={"staleness": "polynomial", "age": "delay"},
        ),
        Reading(
            name="xie-2019-hinge",
            words="the weight times 1 up to u = b and 1 / (a (u - b) + 1) from there on (FedAsync+Hinge)",
            fixes={"staleness": "hinge", "age": "delay"},
        ),
        Reading(
            name="xie-2019-polynomial-literal",
            words="as xie-2019-polynomial, with u = t - tau as printed: 1 for an update that is not late",
            fixes={"staleness": "polynomial", "age": "literal"},
        ),
        Reading(
            name="xie-2019-hinge-literal",
            words="as xie-2019-hinge, with u = t - tau as printed: 1 for an update that is not late",
            fixes={"staleness": "hinge", "age": "literal"},
        ),
    ),
    run=Program(hyper=FedAsync, init=init, step=step, event="arrival"),
    symbols={
        "eta_l": "gamma",
        "mu": "rho",
        "mix": "alpha",
        "K": "H",
        "twice_a": "2 a",
        "hinge_a": "a",
        "hinge_b": "b",
    },
    costs=Costs(down="d", up="d", working="2 d", server="d", note="a server step at every arrival"),
    traps=(
        "it mixes models, so that the server's moves even where a late client's did not",
        "the proximal anchor is the model that was downloaded",
        "the polynomial is one of 1 + u: a delay of 0 costs nothing",
    ),
)
