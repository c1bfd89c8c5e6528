"""The server of Mime: momentum that is fed the mean gradient at its model, and nothing else."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.readings import MomentumSum
from fedspec.rules import rule


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
