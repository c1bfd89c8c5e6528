"""Decentralised Adam: every client keeps moments of its own gradients, and mixes models with its neighbours.

Row i of every stack is client i's. External to the five papers; named in AFGA (L968).
"""

from __future__ import annotations

from fedspec.arith import Mixing, Scalar, Stack, maximum, sqrt
from fedspec.mixing.gossip import check_mixing
from fedspec.records import record
from fedspec.rules import rule


@record
class Moments:
    """The clients' two moments and the running maxima of the second."""

    m: Stack
    v: Stack
    v_hat: Stack


@rule
def moments(state: Moments, g: Stack, *, beta1: Scalar, beta2: Scalar, beta3: Scalar) -> Moments:
    """Update the clients' moments with one more gradient of each client; beta3 = 0 is AMSGrad.

        m = beta1 m + (1 - beta1) g                            dadam.m
        v = beta2 v + (1 - beta2) g^2                          dadam.v
        v_hat = beta3 v_hat + (1 - beta3) max(v_hat, v)        dadam.v_hat

    External: Nazari et al. (2019), Algorithm 1; with beta3 = 0 also Chen et al. (2021), decentralised AMSGrad.
    """
    m = beta1 * state.m + (1 - beta1) * g
    v = beta2 * state.v + (1 - beta2) * g**2
    v_hat = beta3 * state.v_hat + (1 - beta3) * maximum(state.v_hat, v)
    return Moments(m=m, v=v, v_hat=v_hat)


@rule
def tracked_step(X: Stack, m: Stack, mixed: Stack, W: Mixing, *, eta_l: Scalar, eps: Scalar) -> Stack:
    """Step that divides by second moments on which the clients agree; ``mixed`` is W u_tilde.

        X = W X - eta_l m / sqrt(max(W u_tilde, eps))    dadam-tracked.step

    Raises:
        MixingError: W is not doubly stochastic.

    External: Chen et al. (2021), "On the Convergence of Decentralized Adaptive Gradient Methods", Algorithm 2.
    """
    check_mixing(W)
    return W @ X - eta_l * m / sqrt(maximum(mixed, eps))


@rule
def track(mixed: Stack, before: Stack, after: Stack) -> Stack:
    """Update the agreed second moments by the change of each client's own v_hat; their sum stays the sum of v_hat.

        u_tilde = W u_tilde - v_hat_before + v_hat   dadam.u_tilde

    ``mixed`` is W u_tilde.

    External: Chen et al. (2021), Algorithm 2.
    """
    return mixed - before + after


@rule
def local_step(X: Stack, m: Stack, v_hat: Stack, W: Mixing, *, eta_l: Scalar, eps: Scalar) -> Stack:
    """Step that divides by each client's own second moments.

        X = W X - eta_l m / (sqrt(v_hat) + eps)    dadam.step

    Raises:
        MixingError: W is not doubly stochastic.

    External: Nazari et al. (2019), Algorithm 1, without its projection; eps, of which the box has none, as in its code.
    """
    check_mixing(W)
    return W @ X - eta_l * m / (sqrt(v_hat) + eps)
