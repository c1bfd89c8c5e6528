"""Server of Mime: momentum over the mean gradient at the server's model."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.readings import MomentumSum
from fedspec.rules import rule


@rule
def mimicked_momentum(
    m: Vector, g_x: Vector, *, beta: Scalar, momentum_sum: MomentumSum = MomentumSum.AVERAGE
) -> Vector:
    """State of the base optimiser after a round: momentum, which clients read but don't update.

        m = (1 - beta) g_x + beta m                mime-lite.m
        m = g_x + beta m                           mime-lite.m [momentum_sum=sum]

    External: Karimireddy et al. (2020), Mime.
    """
    enters = g_x if momentum_sum is MomentumSum.SUM else (1 - beta) * g_x
    return enters + beta * m
