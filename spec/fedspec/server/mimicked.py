"""The server of Mime: the mean gradient at its model, and the momentum that is fed nothing else."""

from __future__ import annotations

from fedspec.arith import Scalar, Stack, Vector, Weights
from fedspec.readings import MomentumSum
from fedspec.rules import rule


@rule
def gradient_at_x(g_x: Vector, g_i: Stack, p: Weights, tau: Weights) -> Vector:
    """The mean gradient of the round's clients at the model that they were sent, after one batch more of each.

        g_x = g_x + sum_i p_i g_i / tau_i          mime-lite.g_x

    g_i is of the batch of step t, of those clients who take it; of every client all batches together count p_i.
    External: Karimireddy et al. (2020), Mime, where a client's gradient is that of all its examples.
    """
    return g_x + (p / tau) @ g_i


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
