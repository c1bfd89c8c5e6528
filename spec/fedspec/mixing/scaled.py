"""Changes that are multiplied by a weight before they are averaged."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.rules import rule


@rule
def scaled(delta: Vector, *, scale: Scalar) -> Vector:
    """Client's change times its weight; the mean that follows divides by the number of changes, not by the weights.

        Delta_i = Xi_i (x_i - x)                   fedada2.delta_i

    Xi_i is the weight w(O) of a strategy in blended optimisation. Source: FedAda2, Alg. 8 (L1423), Alg. 5 (L1177).
    """
    return scale * delta
