"""The server of Mime: the mean gradient at its model, and the momentum that is fed nothing else."""

from __future__ import annotations

from fedspec.arith import Scalar, Stack, Vector, Weights
from fedspec.readings import MomentumSum
from fedspec.rules import rule


@rule
def gradient_at_x(sums: Stack, p: Weights, tau: Weights) -> Vector:
    """The mean gradient of the round's clients at the model that they were sent.

        g_x = sum_i p_i 1/tau_i sum_k g_i,k(x)     mime-lite.g_x

    A row of ``sums`` holds the gradients of one client, one of each batch, added up.
    External: Karimireddy et al. (2020), Mime, where a client's is that of all its examples.
    """
    return (p / tau) @ sums


@rule
def mimicked_momentum(
    m: Vector, g_x: Vector, *, beta: Scalar, momentum_sum: MomentumSum = MomentumSum.AVERAGE
) -> Vector:
    """The state of the base optimiser after a round, which clients did not touch.

        m = (1 - beta) g_x + beta m                mime-lite.m
        m = g_x + beta m                           mime-lite.m [momentum_sum=sum]

    External: Karimireddy et al. (2020), Mime.
    """
    enters = g_x if momentum_sum is MomentumSum.SUM else (1 - beta) * g_x
    return enters + beta * m
