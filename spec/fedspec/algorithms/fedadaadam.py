"""FedAdaAdam: AdaGrad on the server, Adam with a delayed second moment (ADMU) on the clients.

    for each participating client i (a multiset):
        x_i = x;  m_0, v_0 >= 0, by default 0                                         (lines 4-5)
        for k = 1 .. K_i:
            g = g_i(x_i)                                                              (line 7)
            m_k = beta1_l m_(k-1) + (1 - beta1_l) g                                   (line 8)
            m_hat = m_k / (1 - beta1_l^k)                                             (line 9)
            if (k - 1)/z is whole:                                                    (line 10)
                v_k = beta2_l v_(k-1) + (1 - beta2_l) g^2                             (line 11)
                v_hat = v_k / (1 - beta2_l^(floor((k - 1)/z) + 1))                    (line 12)
            else: v_k = v_(k-1), v_hat as it was                                      (line 14)
            x_i = x_i - eta_l m_hat / (sqrt(v_hat) + eps), unless that step is short  (lines 16-19)
        Delta_i = Xi_i (x_i - x)                                                      (line 21)
    Delta = 1/|S| sum_i Delta_i                                                       (line 23)
    m = beta1 m + (1 - beta1) Delta
    v = v + Delta^2
    x = x + eta m / (sqrt(v) + tau)

A step is short if ||m_hat / (sqrt(v_hat) + eps)|| < eps_s.
In the runs on images the rate warms up in every round: eta_l min(1, k / warm_up) at step k (L1663).

Two lines of the print differ. Line 14 leaves v_hat without a value, so that z > 1 cannot be run; Alg. 7, line 13,
carries it. Line 17 is m_k = 0 where a step is short, which then takes m_hat all the same, while the text (L142) and
Algs. 2 and 10 set the short step itself to 0. Source: FedAda2, Alg. 8 (L1397).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.fedadaadagrad import FedAdaAdagrad
from fedspec.algorithms.server_update import LOCALLY, SYMBOLS, server_update
from fedspec.arith import Scalar, Vector
from fedspec.client.admu import admu, begin
from fedspec.client.delay import held, warmed
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading, v0_at_least_tau_squared
from fedspec.facts import Fact
from fedspec.hyper import NOT_GIVEN
from fedspec.mixing.scaled import scaled
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import DeadZone
from fedspec.server.adagrad import Adaptive
from fedspec.server.adagrad import init as init_adaptive


@dataclass(frozen=True)
class FedAdaAdam(FedAdaAdagrad):
    """Hyper-parameters of FedAdaAdam: FedAdaAdagrad's, and the decays and m_0 of the clients' Adam."""

    beta1_l: Scalar = NOT_GIVEN
    beta2_l: Scalar = NOT_GIVEN
    m0_l: Scalar = 0
    dead_zone: DeadZone = DeadZone.STEP


def init(h: FedAdaAdam, x: Vector, setup: Setup) -> Adaptive:
    """Initial state: no momentum; second moment v_0, which the paper wants to be at least tau^2."""
    return init_adaptive(x, v0=h.v0)


def step(h: FedAdaAdam, state: Adaptive, clients: Clients, plan: Plan) -> tuple[Adaptive, dict[str, Any]]:
    """Run one round: Alg. 8, lines 2-26."""
    own: dict[str, Any] = {"eps": h.eps, "beta1": h.beta1_l, "beta2": h.beta2_l}

    def client(i: int, x: Vector, gradient: Oracle, tau: int, Xi: Scalar = 1) -> Vector:
        y = begin(x, v0=h.v0_l, m0=h.m0_l)
        for k in range(tau):
            g = gradient(k, y.x)
            eta_l = warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)
            after = admu(y, g, **own, eta_l=eta_l, z=h.z, epoch=h.epoch, eps_s=h.eps_s, dead_zone=h.dead_zone)
            y = held(y, after, k + 1, h.warm_up_from)
        return scaled(y.x - x, scale=Xi)

    deltas = each(client, clients, plan, state.x)
    return server_update(state, deltas, plan, eta=h.eta, beta1=h.beta1, tau=h.tau)


ROW = Algorithm(
    id="fedadaadam",
    family=Family.JOINT,
    place=5,
    title="server AdaGrad, clients Adam with a delayed second moment",
    source="FedAda2, Alg. 8 (L1397)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="fedada2",
            words="a short step is not taken, the momentum is kept; v_hat is carried between updates",
            fixes={"dead_zone": "step"},
            requires=(v0_at_least_tau_squared("fedadaadam"),),
        ),
        Reading(
            name="alg-8-as-printed",
            words="a short step is taken and clears the momentum: line 17 (L1419-1421), against L142",
            fixes={"dead_zone": "momentum"},
            requires=(v0_at_least_tau_squared("fedadaadam"),),
        ),
    ),
    run=Program(hyper=FedAdaAdam, init=init, step=step, takes=("scales", "repeats")),
    costs=Costs(
        down="m d", up="m d", working="4 d", server="3 d", note="v_hat is v divided by a number: 3 d are enough"
    ),
    traps=(phrases.XI, phrases.DRAWN_TWICE, "the box clears m where the step should be cleared", phrases.WARM_UP),
    facts=(Fact.JOINT,),
    symbols={**SYMBOLS, **LOCALLY, "v0_l": "v_0", "m0_l": "m_0"},
)
