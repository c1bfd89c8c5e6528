"""FedAMSGrad (the base of AFGA) and FedAMS.

    Delta = mean of Delta_i over the participants   (clients as in FedAvg)
    m = beta1 m + (1 - beta1) Delta
    v = beta2 v + (1 - beta2) Delta^2
    v_hat = max(v_hat, v)                           (FedAMS option 1: and eps)
    x = x + eta m / sqrt(v_hat + eps)               (FedAMS option 1: / sqrt(v_hat))

Source: AFGA, eq. (2) (L112-130), which averages uniformly. FedAMS is external: Wang, Lin and Chen (2022).
"""

from __future__ import annotations

from typing import Any

from fedspec.algorithms.fedamsgrad import FedAMS, FedAMSGrad
from fedspec.server.amsgrad import AmsGrad, ams, amsgrad
from fedspec.server.amsgrad import init as init_amsgrad
from fedspec_torch.algorithms.synchronous import aggregate
from fedspec_torch.arith import Vector
from fedspec_torch.plan import Messages

__all__ = ["FedAMS", "FedAMSGrad", "fedams", "fedamsgrad", "init"]


def init(h: FedAMSGrad | FedAMS, x: Vector) -> AmsGrad:
    """Moments and maximum at zero."""
    return init_amsgrad(x)


def fedamsgrad(h: FedAMSGrad, state: AmsGrad, messages: Messages) -> tuple[AmsGrad, dict[str, Any]]:
    """Average the changes; one step of server AMSGrad."""
    delta = aggregate(messages, h.weights, state.x)
    return amsgrad(state, delta, **h.of(amsgrad)), {"delta": delta}


def fedams(h: FedAMS, state: AmsGrad, messages: Messages) -> tuple[AmsGrad, dict[str, Any]]:
    """Average the changes; one step of FedAMS."""
    delta = aggregate(messages, h.weights, state.x)
    return ams(state, delta, **h.of(ams)), {"delta": delta}
