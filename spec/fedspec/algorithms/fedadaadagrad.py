"""FedAdaAdagrad: AdaGrad on the server, AdaGrad with delayed updates on the clients.

    for each participating client i (a multiset):
        x_i = x;  v_0 >= 0, by default 0                                          (lines 4-5)
        for k = 1 .. K_i:
            g = g_i(x_i)                                                          (lines 7-8)
            v_k = v_(k-1) + g^2 if (k - 1)/z is whole, else v_(k-1)               (lines 9-13)
            x_i = x_i - eta_l g / (sqrt(v_k) + eps), unless that step is short    (lines 14-17)
        Delta_i = Xi_i (x_i - x)                                                  (line 19)
    Delta = 1/|S| sum_i Delta_i                                                   (line 21)
    m = beta1 m + (1 - beta1) Delta
    v = v + Delta^2
    x = x + eta m / (sqrt(v) + tau)

A step is short if ||g / (sqrt(v_k) + eps)|| < eps_s. In the paper's runs the delay counts epochs, not steps (L1773).
In the runs on images the rate warms up in every round: eta_l min(1, k / warm_up) at step k (L1663).
Source: FedAda2, Alg. 10 (L1513).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.server_update import SYMBOLS, server_update
from fedspec.arith import Scalar, Vector
from fedspec.client.agdu import agdu, begin
from fedspec.client.delay import held, warmed
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading, v0_at_least_tau_squared
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.scaled import scaled
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import WarmUp
from fedspec.server.adagrad import Adaptive
from fedspec.server.adagrad import init as init_adaptive


@dataclass(frozen=True)
class FedAdaAdagrad(Hyper):
    """Hyper-parameters of FedAdaAdagrad; z counts steps or epochs, and v0_l is the clients' v_0."""

    eta_l: Scalar
    eps: Scalar
    eta: Scalar
    beta1: Scalar
    tau: Scalar
    v0: Scalar
    warm_up: int = 1
    z: int = 1
    epoch: int = 1
    eps_s: Scalar = 0
    v0_l: Scalar = 0
    warm_up_from: WarmUp = WarmUp.FIRST_STEP


def init(h: FedAdaAdagrad, x: Vector, setup: Setup) -> Adaptive:
    """Initial state: no momentum; second moment v_0, which the paper wants to be at least tau^2."""
    return init_adaptive(x, v0=h.v0)


def step(h: FedAdaAdagrad, state: Adaptive, clients: Clients, plan: Plan) -> tuple[Adaptive, dict[str, Any]]:
    """Run one round: Alg. 10, lines 2-24."""

    def client(i: int, x: Vector, gradient: Oracle, tau: int, Xi: Scalar = 1) -> Vector:
        y = begin(x, v0=h.v0_l)
        for k in range(tau):
            eta_l = warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)
            after = agdu(y, gradient(k, y.x), eta_l=eta_l, eps=h.eps, z=h.z, epoch=h.epoch, eps_s=h.eps_s)
            y = held(y, after, k + 1, h.warm_up_from)
        return scaled(y.x - x, scale=Xi)

    deltas = each(client, clients, plan, state.x)
    return server_update(state, deltas, plan, eta=h.eta, beta1=h.beta1, tau=h.tau)


ROW = Algorithm(
    id="fedadaadagrad",
    family=Family.JOINT,
    place=4,
    title="server AdaGrad, clients AdaGrad with delayed updates",
    source="FedAda2, Alg. 10 (L1513)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="fedada2",
            words="changes times Xi_i, mean over |S|",
            requires=(v0_at_least_tau_squared("fedadaadagrad"),),
        ),
    ),
    run=Program(hyper=FedAdaAdagrad, init=init, step=step, takes=("scales", "repeats")),
    costs=Costs(
        down="m d", up="m d", working="2 d", server="3 d", note="ceil(tau/z) updates of v in a round instead of tau"
    ),
    traps=(phrases.XI, phrases.DRAWN_TWICE, phrases.DEAD_ZONE, phrases.WARM_UP),
    facts=(Fact.JOINT,),
    symbols={**SYMBOLS, "v0_l": "v_0"},
)
