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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.hyper import Hyper
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector
from fedspec.plan import Message
from fedspec.readings import BiasCorrection, Epsilon, SecondMoment, Weighting
from fedspec.server.adagrad import Adaptive, adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import adam
from fedspec.server.yogi import yogi


@dataclass(frozen=True)
class FedAdagrad(Hyper):
    """Hyper-parameters and readings of FedAdagrad."""

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    tau: Scalar
    v0: Scalar
    weights: Weighting = Weighting.EXAMPLES
    bias_correction: BiasCorrection = BiasCorrection.NONE
    epsilon: Epsilon = Epsilon.OUTSIDE
    second_moment: SecondMoment = SecondMoment.PSEUDO_GRADIENT


@dataclass(frozen=True)
class FedAdam(Hyper):
    """Hyper-parameters and readings of FedAdam."""

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    tau: Scalar
    v0: Scalar
    weights: Weighting = Weighting.EXAMPLES
    bias_correction: BiasCorrection = BiasCorrection.NONE
    epsilon: Epsilon = Epsilon.OUTSIDE
    second_moment: SecondMoment = SecondMoment.PSEUDO_GRADIENT


@dataclass(frozen=True)
class FedYogi(FedAdam):
    """Hyper-parameters and readings of FedYogi: those of FedAdam."""


def init(h: FedAdagrad | FedAdam, x: Vector) -> Adaptive:
    """No momentum; second moment v_0."""
    return init_adaptive(x, v0=h.v0)


def fedadagrad(h: FedAdagrad, state: Adaptive, messages: Sequence[Message]) -> tuple[Adaptive, dict[str, Any]]:
    """Average the changes; one step of server AdaGrad."""
    delta = aggregate(messages, h.weights)
    return adagrad(state, delta, **h.of(adagrad)), {"delta": delta}


def fedadam(h: FedAdam, state: Adaptive, messages: Sequence[Message]) -> tuple[Adaptive, dict[str, Any]]:
    """Average the changes; one step of server Adam."""
    delta = aggregate(messages, h.weights)
    return adam(state, delta, **h.of(adam)), {"delta": delta}


def fedyogi(h: FedYogi, state: Adaptive, messages: Sequence[Message]) -> tuple[Adaptive, dict[str, Any]]:
    """Average the changes; one step of server Yogi."""
    delta = aggregate(messages, h.weights)
    return yogi(state, delta, **h.of(yogi)), {"delta": delta}
