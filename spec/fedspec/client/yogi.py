"""Yogi as a local solver (external to the five papers)."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector, constant, sign, zeros
from fedspec.client.adam import Adam
from fedspec.preconditioner import corrected, rate, root
from fedspec.readings import BiasCorrection, Epsilon
from fedspec.rules import rule


def begin(x: Vector, *, v0: Scalar) -> Adam:
    """The state at the start of a round: no momentum, second moment v_0."""
    return Adam(x=x, m=zeros(x), v=constant(v0, x), t=0)


@rule
def yogi(
    state: Adam,
    g: Vector,
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    bias_correction: BiasCorrection = BiasCorrection.NONE,
    epsilon: Epsilon = Epsilon.OUTSIDE,
) -> Adam:
    """One local step of Yogi: the second moment moves by at most (1 - beta2) g^2, whatever its size.

        m = beta1 m + (1 - beta1) g                yogi.m
        v = v - (1 - beta2) g^2 sign(v - g^2)      yogi.v
        x = x - eta_l m / (sqrt(v) + eps)          yogi.step

    External: Zaheer et al. (2018), Algorithm 2.
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    v = state.v - (1 - beta2) * g**2 * sign(state.v - g**2)
    m_hat = corrected(m, beta1, t, bias_correction)
    v_hat = corrected(v, beta2, t, bias_correction)
    x = state.x - rate(eta_l, beta1, beta2, t, bias_correction) * m_hat / root(v_hat, eps, epsilon)
    return Adam(x=x, m=m, v=v, t=t)
