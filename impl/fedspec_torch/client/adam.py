"""Adam as a local solver, with the readings that its implementations differ in."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fedspec.readings import BiasCorrection, Epsilon
from fedspec_torch.arith import Counts, Mask, Scalar, Stack, keep, on_stacks
from fedspec_torch.preconditioner import corrected, rate, root


@dataclass(frozen=True)
class Adam:
    """The local models, their two moments and the number of steps that each client has taken."""

    x: Stack
    m: Stack
    v: Stack
    t: Counts


def begin(x: Stack) -> Adam:
    """The state at the start of a round: moments at zero."""
    zeros = torch.zeros_like(x)
    return Adam(x=x, m=zeros, v=zeros, t=torch.zeros(len(x), dtype=torch.int64, device=x.device))


@on_stacks
def adam(
    state: Adam,
    g: Stack,
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    bias_correction: BiasCorrection = BiasCorrection.MOMENTS,
    epsilon: Epsilon = Epsilon.OUTSIDE,
    active: Mask | None = None,
) -> Adam:
    """One local step of Adam; t = 1 at a client's first.

        m = beta1 m + (1 - beta1) g                adam.m
        v = beta2 v + (1 - beta2) g^2              adam.v
        m_hat = m / (1 - beta1^t)                  adam.m_hat
        v_hat = v / (1 - beta2^t)                  adam.v_hat
        x = x - eta_l m_hat / (sqrt(v_hat) + eps)  adam.step

    Source: FedAda2, Alg. 6 (L1335).
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    v = beta2 * state.v + (1 - beta2) * g**2
    m_hat = corrected(m, beta1, t, bias_correction)
    v_hat = corrected(v, beta2, t, bias_correction)
    x = state.x - rate(eta_l, beta1, beta2, t, bias_correction, m) * m_hat / root(v_hat, eps, epsilon)
    return keep(active, Adam(x=x, m=m, v=v, t=t), state)
