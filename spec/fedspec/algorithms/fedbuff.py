"""FedBuff: a server that buffers late updates and applies their mean; a relative of the client-centric algorithms.

    x_i = x_mu;  K times: x_i = x_i - eta_l g_i(x_i)
    Delta_i = s(u) (x_i - x_mu)                     (s = 1 in the box)
    when m of them wait:
        Delta = mean of the buffer;  x = x + eta Delta;  the buffer is emptied

External: Nguyen et al. (2022), Algorithm 1, whose clients all take equally many steps; Client-Centric names it and does
not define it (L390-392). Its experiments have s(u) = 1 / sqrt(1 + u), with u the delay, there tau.
A change waits discounted: cc.delta_i times mix_t of a mix of 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.algorithms.buffered import Waiting, begin, check_room, collected
from fedspec.arith import Scalar, Vector, numbers
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import NOT_GIVEN, Hyper
from fedspec.mixing.arrivals import READ_BY, discount, local_change
from fedspec.plan import Arrival, Oracle, Setup
from fedspec.population import Clients, each_arrival
from fedspec.readings import Normalise, Staleness
from fedspec.server.average import average


@dataclass(frozen=True)
class FedBuff(Hyper):
    """Hyper-parameters of FedBuff."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = READ_BY

    buffer: int
    eta_l: Scalar
    eta: Scalar
    twice_a: int = NOT_GIVEN
    hinge_a: Scalar = NOT_GIVEN
    hinge_b: int = NOT_GIVEN
    staleness: Staleness = Staleness.CONSTANT


def init(h: FedBuff, x: Vector, setup: Setup) -> Waiting:
    """Initial state: the first version of the model and an empty buffer."""
    return begin(x)


def step(h: FedBuff, state: Waiting, clients: Clients, *arrivals: Arrival) -> tuple[Waiting, dict[str, Any]]:
    """Process arrivals that fit the buffer, with one server step if they fill it.

    Raises:
        PlanError: more updates arrive than the buffer has space for, or an arrival names a client or a version that
            doesn't exist.
    """
    check_room(h.buffer, state.pending, arrivals)
    one = numbers([1], state.x)[0]

    def client(i: int, x_mu: Vector, gradient: Oracle, K: int) -> Vector:
        x = x_mu
        for k in range(K):
            x = sgd(x, gradient(k, x), eta_l=h.eta_l)
        return local_change(x, x_mu, steps=K, normalise=Normalise.NONE)

    changes = each_arrival(client, clients, arrivals, state.versions)
    s = [discount(one, delay=a.delay, **h.of(discount)) for a in arrivals]
    deltas = [s_i * change for s_i, change in zip(s, changes, strict=True)]
    pending, delta = collected(state.pending, deltas, m=h.buffer, like=state.x)
    if delta is None:
        return replace(state, pending=pending), {"delta_i": deltas[-1]}
    x = average(state.x, delta, eta=h.eta)
    state = Waiting(server=x, versions=(*state.versions, x), pending=pending)
    return state, {"delta_i": deltas[-1], "delta": delta}


ROW = Algorithm(
    id="fedbuff",
    family=Family.ASYNCHRONOUS,
    place=7,
    title="buffered asynchronous aggregation",
    source="external: Nguyen et al. (2022), Algorithm 1; named in Client-Centric (L390-392)",
    basis=Basis.MEMORY,
    levels=("trace",),
    under={"normalise": "none"},
    readings=(
        Reading(
            name="nguyen-2022",
            words="the mean of a full buffer of changes, added with rate eta",
            fixes={"staleness": "constant"},
        ),
        Reading(
            name="nguyen-2022-discounted",
            words="as nguyen-2022, each change times (1 + u)^(-a), u the delay; a = 1/2 in its experiments",
            fixes={"staleness": "polynomial"},
        ),
        Reading(
            name="discounted-by-hinge",
            words="as nguyen-2022, each change times the hinge of Xie et al. (2019)",
            fixes={"staleness": "hinge"},
        ),
    ),
    run=Program(hyper=FedBuff, init=init, step=step, event="arrival"),
    symbols={"buffer": "K", "eta": "eta_g", "K": "Q", "delta": "-Delta", "u": "tau_i", "twice_a": "2 a"},
    costs=Costs(down="m d", up="m d", working="2 d", server="2 d", note=phrases.BUFFER_IS_A_SUM),
    traps=(phrases.OLD_MODEL, "changes are not divided by K", "the buffer is emptied after a step, not slid along"),
    facts=(Fact.AFFINE,),
)
