"""FedAMSGrad (the base of AFGA) and FedAMS.

    Delta = mean of Delta_i over the participants   (clients as in FedAvg)
    m = beta1 m + (1 - beta1) Delta
    v = beta2 v + (1 - beta2) Delta^2
    v_hat = max(v_hat, v)                           (FedAMS option 1: and eps)
    x = x + eta m / sqrt(v_hat + eps)               (FedAMS option 1: / sqrt(v_hat))

Source: AFGA, eq. (2) (L112-130), which averages uniformly. FedAMS is external: Wang, Lin and Chen (2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.hyper import Hyper
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector
from fedspec.plan import Message
from fedspec.readings import AmsOption, BiasCorrection, Epsilon, Maximum, Weighting
from fedspec.server.amsgrad import AmsGrad, ams, amsgrad
from fedspec.server.amsgrad import init as init_amsgrad


@dataclass(frozen=True)
class FedAMSGrad(Hyper):
    """Hyper-parameters and readings of FedAMSGrad."""

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    weights: Weighting = Weighting.UNIFORM
    bias_correction: BiasCorrection = BiasCorrection.NONE
    epsilon: Epsilon = Epsilon.INSIDE
    maximum_of: Maximum = Maximum.BEFORE


@dataclass(frozen=True)
class FedAMS(Hyper):
    """Hyper-parameters and option of FedAMS."""

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    weights: Weighting = Weighting.UNIFORM
    option: AmsOption = AmsOption.ONE


def init(h: FedAMSGrad | FedAMS, x: Vector) -> AmsGrad:
    """Moments and maximum at zero."""
    return init_amsgrad(x)


def fedamsgrad(h: FedAMSGrad, state: AmsGrad, messages: Sequence[Message]) -> tuple[AmsGrad, dict[str, Any]]:
    """Average the changes; one step of server AMSGrad."""
    delta = aggregate(messages, h.weights)
    return amsgrad(state, delta, **h.of(amsgrad)), {"delta": delta}


def fedams(h: FedAMS, state: AmsGrad, messages: Sequence[Message]) -> tuple[AmsGrad, dict[str, Any]]:
    """Average the changes; one step of FedAMS."""
    delta = aggregate(messages, h.weights)
    return ams(state, delta, **h.of(ams)), {"delta": delta}
