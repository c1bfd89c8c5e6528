"""Local training with an adaptive solver: FedAda2's clients, and those that blended optimisation mixes."""

from __future__ import annotations

from dataclasses import dataclass

from fedspec.arith import Scalar, Vector, zeros
from fedspec.client.adam import Adam, general_adam
from fedspec.client.admu import Admu, admu
from fedspec.client.agdu import Agdu, agdu
from fedspec.client.delay import unless_short
from fedspec.client.sgd import sgd
from fedspec.client.sm3_adam import begin as begin_sm3_adam
from fedspec.client.sm3_adam import sm3_adam
from fedspec.client.sm3_delayed import begin as begin_sm3
from fedspec.client.sm3_delayed import sm3_ii_delayed
from fedspec.covers import Cover
from fedspec.domains import check_steps
from fedspec.hyper import Hyper
from fedspec.plan import Oracle
from fedspec.readings import BiasCorrection, DeadZone, Idle, Received, Strategy


@dataclass(frozen=True)
class Local(Hyper):
    """The hyper-parameters of a client's solver, under the names of its rule."""

    eta_l: Scalar
    eps: Scalar
    beta1: Scalar = 0
    beta2: Scalar = 0
    z: int = 1
    eps_s: Scalar = 0
    dead_zone: DeadZone = DeadZone.STEP
    idle: Idle = Idle.CARRIED


def optimise(strategy: Strategy, h: Local, x: Vector, gradient: Oracle, tau: int, cover: Cover) -> Vector:
    """The local model after tau steps of a strategy from x, its state fresh.

    Raises:
        PlanError: tau is not a whole number >= 1.
    """
    if strategy is Strategy.SGD:
        return _sgd(h, x, gradient, tau)
    if strategy in (Strategy.ADAGRAD, Strategy.ADAM):
        return optimise_from(strategy, h, x, zeros(x), gradient, tau)
    check_steps(tau)
    if strategy is Strategy.SM3_ADAGRAD:
        sm3 = begin_sm3(x, cover)
        for k in range(tau):
            sm3 = sm3_ii_delayed(sm3, gradient(k, sm3.x), cover, **h.of(sm3_ii_delayed))
        return sm3.x
    state = begin_sm3_adam(x, cover)
    for k in range(tau):
        state = sm3_adam(state, gradient(k, state.x), cover, **h.of(sm3_adam))
    return state.x


def optimise_from(
    strategy: Strategy,
    h: Local,
    x: Vector,
    v: Vector,
    gradient: Oracle,
    tau: int,
    received: Received = Received.CORRECTED,
) -> Vector:
    """The same for AdaGrad and Adam, their second moment begun at v, which the server may have sent."""
    check_steps(tau)
    if strategy is Strategy.ADAGRAD:
        agdu_state = Agdu(x=x, v=v, t=0)
        for k in range(tau):
            agdu_state = agdu(agdu_state, gradient(k, agdu_state.x), **h.of(agdu))
        return agdu_state.x
    if received is Received.UNCORRECTED:
        plain = Adam(x=x, m=zeros(x), v=v, t=0)
        for k in range(tau):
            plain = general_adam(plain, gradient(k, plain.x), bias_correction=BiasCorrection.NONE, **h.of(general_adam))
        return plain.x
    state = Admu(x=x, m=zeros(x), v=v, v_hat=zeros(x), t=0)
    for k in range(tau):
        state = admu(state, gradient(k, state.x), **h.of(admu))
    return state.x


def _sgd(h: Local, x: Vector, gradient: Oracle, tau: int) -> Vector:
    check_steps(tau)
    for k in range(tau):
        g = gradient(k, x)
        x = sgd(x, unless_short(g, g, h.eps_s), eta_l=h.eta_l)
    return x
