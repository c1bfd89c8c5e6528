"""Joint adaptivity without communication of preconditioners: adaptive clients under an adaptive server.

    for each participating client i (a multiset):
        x_i = x;  v_0 = 0, and m_0 = 0 with Adam
        for k = 1 .. K_i: one step of AdaGrad, or of Adam corrected with t = k, on x_i, at eta_l min(1, k / warm_up)
        Delta_i = x_i - x
    Delta = 1/|S| sum_i Delta_i
    m = beta1 m + (1 - beta1) Delta
    v = v + Delta^2 (AdaGrad), or beta2 v + (1 - beta2) Delta^2 (Adam)
    x = x + eta m / (sqrt(v) + tau)

A baseline of FedAda2, which is what is left of it without SM3; without a warm-up (L1663) warm_up = 1.
Source: FedAda2, L192 and L1623.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.algorithms.server_update import LOCALLY, SYMBOLS, server_update
from fedspec.arith import Scalar, Vector
from fedspec.client.admu import admu
from fedspec.client.admu import begin as begin_adam
from fedspec.client.agdu import agdu
from fedspec.client.agdu import begin as begin_adagrad
from fedspec.client.delay import held, warmed
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading, v0_at_least_tau_squared
from fedspec.facts import Fact
from fedspec.hyper import NOT_GIVEN, Hyper
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Adaptivity, WarmUp
from fedspec.server.adagrad import Adaptive
from fedspec.server.adagrad import init as init_adaptive


@dataclass(frozen=True)
class JointLocal(Hyper):
    """Hyper-parameters and options of joint adaptivity; beta1_l, beta2_l and warm_up are the clients'."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "beta2": ("server=adam",),
        "beta1_l": ("client=adam",),
        "beta2_l": ("client=adam",),
    }

    eta_l: Scalar
    eps: Scalar
    eta: Scalar
    beta1: Scalar
    tau: Scalar
    v0: Scalar
    beta2: Scalar = NOT_GIVEN
    beta1_l: Scalar = NOT_GIVEN
    beta2_l: Scalar = NOT_GIVEN
    warm_up: int = 1
    server: Adaptivity = Adaptivity.ADAGRAD
    client: Adaptivity = Adaptivity.ADAGRAD
    warm_up_from: WarmUp = WarmUp.FIRST_STEP


def init(h: JointLocal, x: Vector, setup: Setup) -> Adaptive:
    """Initial state: no momentum; second moment v_0, which the paper wants to be at least tau^2."""
    return init_adaptive(x, v0=h.v0)


def step(h: JointLocal, state: Adaptive, clients: Clients, plan: Plan) -> tuple[Adaptive, dict[str, Any]]:
    """Run one round."""

    def adagrad_client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = begin_adagrad(x)
        for k in range(tau):
            eta_l = warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)
            y = held(y, agdu(y, gradient(k, y.x), eta_l=eta_l, eps=h.eps), k + 1, h.warm_up_from)
        return y.x - x

    def adam_client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = begin_adam(x)
        for k in range(tau):
            eta_l = warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)
            after = admu(y, gradient(k, y.x), eta_l=eta_l, beta1=h.beta1_l, beta2=h.beta2_l, eps=h.eps)
            y = held(y, after, k + 1, h.warm_up_from)
        return y.x - x

    client = adam_client if h.client is Adaptivity.ADAM else adagrad_client
    deltas = each(client, clients, plan, state.x)
    return server_update(state, deltas, plan, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau, server=h.server)


ROW = Algorithm(
    id="joint-local",
    family=Family.JOINT,
    place=1,
    title="adaptive clients and server, no preconditioner sent",
    source="FedAda2, L192 and L1623 (Joint Adap. w/o Precond. Commu.)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="fedada2",
            words="local moments start from zero each round",
            requires=(v0_at_least_tau_squared("joint-local"),),
        ),
    ),
    run=Program(hyper=JointLocal, init=init, step=step, takes=("repeats",)),
    costs=Costs(
        down="m d",
        up="m d",
        working="2 d",
        server="3 d",
        note="AdaGrad clients; Adam clients need 4 d, or 3 d with v_hat made from v",
    ),
    traps=(
        phrases.LOCAL_FRESH,
        "the server has no bias correction, the clients' Adam has",
        phrases.TAU_OUTSIDE,
        phrases.WARM_UP,
    ),
    facts=(Fact.JOINT,),
    symbols={**SYMBOLS, **LOCALLY, "beta2": "beta~_2"},
    aliases={"fedada2@v3": "FedAda2 in v3 of the paper (NeurIPS 2025); what v3 calls FedAda2++ is fedada2 here"},
)
