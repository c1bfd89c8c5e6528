"""FedAdagrad, FedAdam and FedYogi: one box, three second moments.

    Delta = mean of Delta_i over the participants   (clients as in FedAvg)
    m = beta1 m + (1 - beta1) Delta
    v = v + Delta^2                                 (FedAdagrad)
        beta2 v + (1 - beta2) Delta^2               (FedAdam)
        v - (1 - beta2) Delta^2 sign(v - Delta^2)   (FedYogi)
    x = x + eta m / (sqrt(v) + tau)

with v_0 >= tau^2. Source: FedAda2, eq. (SU) (L51) and App. C.2; external: Reddi et al. (2021), Algorithm 2,
which averages uniformly in the box and by examples in the experiments.
"""

from __future__ import annotations

from typing import Any

from fedspec.algorithms.fedopt import FedAdagrad, FedAdam, FedYogi
from fedspec.server.adagrad import Adaptive, adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import adam
from fedspec.server.yogi import yogi
from fedspec_torch.algorithms.synchronous import aggregate
from fedspec_torch.arith import Vector
from fedspec_torch.plan import Messages

__all__ = ["FedAdagrad", "FedAdam", "FedYogi", "fedadagrad", "fedadam", "fedyogi", "init"]


def init(h: FedAdagrad | FedAdam, x: Vector) -> Adaptive:
    """No momentum; second moment v_0."""
    return init_adaptive(x, v0=h.v0)


def fedadagrad(h: FedAdagrad, state: Adaptive, messages: Messages) -> tuple[Adaptive, dict[str, Any]]:
    """Average the changes; one step of server AdaGrad."""
    delta = aggregate(messages, h.weights, state.x)
    return adagrad(state, delta, **h.of(adagrad)), {"delta": delta}


def fedadam(h: FedAdam, state: Adaptive, messages: Messages) -> tuple[Adaptive, dict[str, Any]]:
    """Average the changes; one step of server Adam."""
    delta = aggregate(messages, h.weights, state.x)
    return adam(state, delta, **h.of(adam)), {"delta": delta}


def fedyogi(h: FedYogi, state: Adaptive, messages: Messages) -> tuple[Adaptive, dict[str, Any]]:
    """Average the changes; one step of server Yogi."""
    delta = aggregate(messages, h.weights, state.x)
    return yogi(state, delta, **h.of(yogi)), {"delta": delta}
