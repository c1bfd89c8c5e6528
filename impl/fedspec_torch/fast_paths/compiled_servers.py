"""Adaptive servers' steps in one compiled pass: each number of the state is read once and written once.

With m = beta1 m + (1 - beta1) Delta,

    adagrad: v = v + Delta^2,                                           x = x + eta m / (sqrt(v) + tau)
    amsgrad: v = beta2 v + (1 - beta2) Delta^2,  v_hat = max(v, v_hat), x = x + eta m / sqrt(v_hat + eps)
"""

from __future__ import annotations

import numpy as np

from fedspec.arith import Array
from fedspec_torch.compiling import compiled


@compiled
def adagrad(x: Array, m: Array, v: Array, delta: Array, eta: float, beta1: float, tau: float) -> None:
    """Take AdaGrad's step on vectors [d]; overwrites x, m and v."""
    number = x.dtype.type
    rate, w, least = number(eta), number(1 - beta1), number(tau)
    for j in range(len(x)):
        m[j] += w * (delta[j] - m[j])
        v[j] += delta[j] * delta[j]
        x[j] += rate * m[j] / (np.sqrt(v[j]) + least)


@compiled
def amsgrad(
    x: Array, m: Array, v: Array, v_hat: Array, delta: Array, eta: float, beta1: float, beta2: float, eps: float
) -> None:
    """Take AMSGrad's step, eps inside the root, on vectors [d]; overwrites x, m, v and v_hat."""
    number = x.dtype.type
    rate, w, keeps, adds, least = number(eta), number(1 - beta1), number(beta2), number(1 - beta2), number(eps)
    for j in range(len(x)):
        m[j] += w * (delta[j] - m[j])
        v[j] = keeps * v[j] + adds * (delta[j] * delta[j])
        # What is no number stays none.
        v_hat[j] = v_hat[j] if v_hat[j] > v[j] else v[j]
        x[j] += rate * m[j] / np.sqrt(v_hat[j] + least)
