"""Stochastic gradient descent, with a constant rate or one that decays inside the round."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.rules import rule


@rule
def sgd(x: Vector, g: Vector, *, eta_l: Scalar) -> Vector:
    """One local step of gradient descent.

        x = x - eta_l g                            sgd.step

    Accumulation vector a_k = 1. Source: FedNova, eq. (2) and App. B (L52).
    """
    return x - eta_l * g


@rule
def decayed_sgd(x: Vector, g: Vector, *, k: Scalar, eta_l: Scalar, gamma: Scalar) -> Vector:
    """Local step k = 0, 1, ... of gradient descent whose rate falls by gamma at each step.

        x = x - eta_l gamma^k g                    decayed-sgd.step

    Accumulation vector a_k = gamma^k. Source: FedNova, App. B.
    """
    rate: Scalar = eta_l * gamma**k
    return x - rate * g
