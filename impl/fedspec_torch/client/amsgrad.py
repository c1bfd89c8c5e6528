"""AMSGrad as a local solver, in its three public definitions."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fedspec.readings import BiasCorrection, Epsilon, Maximum
from fedspec_torch.arith import Counts, Mask, Scalar, Stack, keep, on_stacks
from fedspec_torch.preconditioner import corrected, rate, root


@dataclass(frozen=True)
class AmsGrad:
    """The local models, their two moments, the running maxima of the second and each client's number of steps."""

    x: Stack
    m: Stack
    v: Stack
    v_hat: Stack
    t: Counts


def begin(x: Stack) -> AmsGrad:
    """The state at the start of a round: everything at zero."""
    zeros = torch.zeros_like(x)
    return AmsGrad(x=x, m=zeros, v=zeros, v_hat=zeros, t=torch.zeros(len(x), dtype=torch.int64, device=x.device))


@on_stacks
def amsgrad(
    state: AmsGrad,
    g: Stack,
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    bias_correction: BiasCorrection = BiasCorrection.NONE,
    epsilon: Epsilon = Epsilon.OUTSIDE,
    maximum_of: Maximum = Maximum.BEFORE,
    active: Mask | None = None,
) -> AmsGrad:
    """One local step of AMSGrad.

        m = beta1 m + (1 - beta1) g                amsgrad.m
        v = beta2 v + (1 - beta2) g^2              amsgrad.v
        v_hat = max(v_hat, v)                      amsgrad.v_hat
        x = x - eta_l m / (sqrt(v_hat) + eps)      amsgrad.step

    The corrected readings divide m by 1 - beta1^t, and v by 1 - beta2^t either before or after the maximum.

    External: Reddi, Kale and Kumar (2018), Algorithm 2, which has no correction and no eps.
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    v = beta2 * state.v + (1 - beta2) * g**2
    if maximum_of is Maximum.AFTER:
        v_hat = torch.maximum(state.v_hat, corrected(v, beta2, t, bias_correction))
        v_step = v_hat
    else:
        v_hat = torch.maximum(state.v_hat, v)
        v_step = corrected(v_hat, beta2, t, bias_correction)
    m_hat = corrected(m, beta1, t, bias_correction)
    x = state.x - rate(eta_l, beta1, beta2, t, bias_correction, m) * m_hat / root(v_step, eps, epsilon)
    return keep(active, AmsGrad(x=x, m=m, v=v, v_hat=v_hat, t=t), state)
