"""Local training with an adaptive solver, all clients of a block at once: FedAda2's clients, and those that it blends.

Step k is taken by the clients with tau_i > k; the others keep what they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fedspec.algorithms.optimise import Local
from fedspec.client.adam import begin as begin_adam
from fedspec.client.adam import general_adam
from fedspec.client.admu import admu
from fedspec.client.admu import begin as begin_admu
from fedspec.client.agdu import agdu
from fedspec.client.agdu import begin as begin_agdu
from fedspec.client.delay import unless_short
from fedspec.client.sgd import sgd
from fedspec.client.sm3_adam import begin as begin_sm3_adam
from fedspec.client.sm3_adam import sm3_adam
from fedspec.client.sm3_delayed import begin as begin_sm3
from fedspec.client.sm3_delayed import sm3_ii_delayed
from fedspec.covers import AnyCover
from fedspec.readings import BiasCorrection, Received, Strategy
from fedspec_torch.algorithms.local import schedule
from fedspec_torch.arith import Stack, masked
from fedspec_torch.plan import Oracle

__all__ = ["Local", "optimise", "optimise_from"]


def optimise(strategy: Strategy, h: Local, x: Stack, gradient: Oracle, steps: Sequence[int], cover: AnyCover) -> Stack:
    """The local models after tau_i steps of a strategy from x, their state fresh.

    Raises:
        PlanError: a number of steps is not a whole number >= 1.
    """
    if strategy is Strategy.SGD:
        return _sgd(h, x, gradient, steps)
    if strategy in (Strategy.ADAGRAD, Strategy.ADAM):
        return optimise_from(strategy, h, x, x.new_zeros(x.shape), gradient, steps)
    if strategy is Strategy.SM3_ADAGRAD:
        sm3 = begin_sm3(x, cover)
        for k, active in schedule(steps, x.device):
            sm3 = masked(sm3_ii_delayed, active)(sm3, gradient(k, sm3.x), cover, **h.of(sm3_ii_delayed))
        return sm3.x
    state = begin_sm3_adam(x, cover)
    for k, active in schedule(steps, x.device):
        state = masked(sm3_adam, active)(state, gradient(k, state.x), cover, **h.of(sm3_adam))
    return state.x


def optimise_from(
    strategy: Strategy,
    h: Local,
    x: Stack,
    v: Stack,
    gradient: Oracle,
    steps: Sequence[int],
    received: Received = Received.CORRECTED,
) -> Stack:
    """The same for AdaGrad and Adam, their second moments begun at v, which the server may have sent."""
    if strategy is Strategy.ADAGRAD:
        agdu_state = replace(begin_agdu(x), v=v)
        for k, active in schedule(steps, x.device):
            agdu_state = masked(agdu, active)(agdu_state, gradient(k, agdu_state.x), **h.of(agdu))
        return agdu_state.x
    if received is Received.UNCORRECTED:
        plain = replace(begin_adam(x), v=v)
        none = BiasCorrection.NONE
        for k, active in schedule(steps, x.device):
            plain = masked(general_adam, active)(
                plain, gradient(k, plain.x), bias_correction=none, **h.of(general_adam)
            )
        return plain.x
    state = replace(begin_admu(x), v=v)
    for k, active in schedule(steps, x.device):
        state = masked(admu, active)(state, gradient(k, state.x), **h.of(admu))
    return state.x


def _sgd(h: Local, x: Stack, gradient: Oracle, steps: Sequence[int]) -> Stack:
    for k, active in schedule(steps, x.device):
        g = gradient(k, x)
        x = masked(sgd, active)(x, unless_short(g, g, h.eps_s), eta_l=h.eta_l)
    return x
