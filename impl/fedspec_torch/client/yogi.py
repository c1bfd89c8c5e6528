"""Yogi as a local solver."""

from __future__ import annotations

from dataclasses import replace

import torch

from fedspec.readings import BiasCorrection, Epsilon
from fedspec_torch.arith import Mask, Scalar, Stack, constant, keep, on_stacks
from fedspec_torch.client import adam
from fedspec_torch.client.adam import Adam
from fedspec_torch.preconditioner import corrected, rate, root


def begin(x: Stack, *, v0: Scalar) -> Adam:
    """The state at the start of a round: no momentum, second moment v_0."""
    return replace(adam.begin(x), v=constant(v0, x))


@on_stacks
def yogi(
    state: Adam,
    g: Stack,
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    bias_correction: BiasCorrection = BiasCorrection.NONE,
    epsilon: Epsilon = Epsilon.OUTSIDE,
    active: Mask | None = None,
) -> Adam:
    """One local step of Yogi: the second moment moves by at most (1 - beta2) g^2, whatever its size.

        m = beta1 m + (1 - beta1) g                yogi.m
        v = v - (1 - beta2) g^2 sign(v - g^2)      yogi.v
        x = x - eta_l m / (sqrt(v) + eps)          yogi.step

    External: Zaheer et al. (2018), Algorithm 2.
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    v = state.v - (1 - beta2) * g**2 * torch.sign(state.v - g**2)
    m_hat = corrected(m, beta1, t, bias_correction)
    v_hat = corrected(v, beta2, t, bias_correction)
    x = state.x - rate(eta_l, beta1, beta2, t, bias_correction, m) * m_hat / root(v_hat, eps, epsilon)
    return keep(active, Adam(x=x, m=m, v=v, t=t), state)
