"""Direct joint adaptivity: the server sends its second moment along with the model.

    for each participating client i (a multiset):
        x_i = x;  v_i = sent = the server's v, and m_i = 0 with Adam
        for k = 1 .. K_i: one step of AdaGrad, or of Adam corrected with t = k, on x_i, at eta_l min(1, k / warm_up)
        Delta_i = x_i - x
    Delta = 1/|S| sum_i Delta_i
    m = beta1 m + (1 - beta1) Delta
    v = v + Delta^2 (AdaGrad), or beta2 v + (1 - beta2) Delta^2 (Adam)
    x = x + eta m / (sqrt(v) + tau)

A baseline of FedAda2; what a client's Adam does with what was sent is left open there. The v_0
of L1621 is `sent` here: it is the server's v of now, not the v_0 that the server began with.
Source: FedAda2, L192 and L1621.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.algorithms.joint_local import JointLocal
from fedspec.algorithms.server_update import LOCALLY, SYMBOLS, server_update
from fedspec.arith import Vector, zeros
from fedspec.client.adam import Adam
from fedspec.client.agdu import Agdu, agdu
from fedspec.client.delay import held, warmed
from fedspec.client.received import received_adam
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading, v0_at_least_tau_squared
from fedspec.facts import Fact
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Adaptivity, Received
from fedspec.server.adagrad import Adaptive
from fedspec.server.adagrad import init as init_adaptive


@dataclass(frozen=True)
class JointDirect(JointLocal):
    """Hyper-parameters of direct joint adaptivity, and how Adam clients use the received second moment."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {**JointLocal.plays, "received": ("client=adam",)}

    received: Received = Received.CORRECTED


def init(h: JointDirect, x: Vector, setup: Setup) -> Adaptive:
    """Initial state: no momentum; second moment v_0, which the paper wants to be at least tau^2."""
    return init_adaptive(x, v0=h.v0)


def step(h: JointDirect, state: Adaptive, clients: Clients, plan: Plan) -> tuple[Adaptive, dict[str, Any]]:
    """Run one round."""
    sent = state.v

    def adagrad_client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = Agdu(x=x, v=zeros(x) + sent, t=0)
        for k in range(tau):
            eta_l = warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)
            y = held(y, agdu(y, gradient(k, y.x), eta_l=eta_l, eps=h.eps), k + 1, h.warm_up_from)
        return y.x - x

    def adam_client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        v_0 = zeros(x) + sent
        y = Adam(x=x, m=zeros(x), v=v_0, t=0)
        for k in range(tau):
            g = gradient(k, y.x)
            eta_l = warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)
            own = dict(eta_l=eta_l, beta1=h.beta1_l, beta2=h.beta2_l, eps=h.eps)
            y = held(y, received_adam(y, g, v_0, **own, received=h.received), k + 1, h.warm_up_from)
        return y.x - x

    client = adam_client if h.client is Adaptivity.ADAM else adagrad_client
    deltas = each(client, clients, plan, state.x)
    return server_update(state, deltas, plan, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau, server=h.server)


def _reading(name: str, words: str, received: str) -> Reading:
    """Reading of the received second moment by a client's Adam; clients with AdaGrad need none."""
    fixes = {"client": "adam", "received": received}
    return Reading(name=name, words=words, fixes=fixes, requires=(v0_at_least_tau_squared("joint-direct"),))


ROW = Algorithm(
    id="joint-direct",
    family=Family.JOINT,
    place=2,
    title="adaptive clients and server, the server's second moment sent",
    source="FedAda2, L192 and L1621 (Direct Joint Adaptivity)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="fedada2",
            words="local second moments start from the server's; m is not sent; Adam's corrections as in Alg. 6",
            fixes={"received": "corrected"},
            requires=(v0_at_least_tau_squared("joint-direct"),),
        ),
        _reading("uncorrected", "a client's Adam corrects no moment, as on the server", "uncorrected"),
        _reading(
            "m-corrected", "a client's Adam corrects m, which starts at 0, and not v, which does not", "m-corrected"
        ),
        _reading(
            "without-start",
            "v_hat = max((v - beta2^t sent)/(1 - beta2^t), 0), the unbiased form: nothing is left of what was sent",
            "without-start",
        ),
    ),
    run=Program(hyper=JointDirect, init=init, step=step, takes=("repeats",)),
    costs=Costs(
        down="2 m d",
        up="m d",
        working="2 d",
        server="3 d",
        note="the server's v is sent: half as much again as FedAvg",
    ),
    traps=(
        "the server's v is sent as it is, even where the client's solver is another one",
        "whether a client's Adam corrects what it received is a reading",
        "m is not sent",
        phrases.WARM_UP,
    ),
    facts=(Fact.JOINT,),
    symbols={**SYMBOLS, **LOCALLY, "beta2": "beta~_2"},
)
