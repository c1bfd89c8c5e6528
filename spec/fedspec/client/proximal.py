"""Gradient descent on the proximal objective of FedProx."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.rules import rule


@rule
def proximal_sgd(x: Vector, g: Vector, anchor: Vector, *, eta_l: Scalar, mu: Scalar) -> Vector:
    """One local step on F_i(x) + mu/2 ||x - anchor||^2, the anchor being the model that the round started from.

        x = x - eta_l (g + mu (x - anchor))        proximal-sgd.step

    Accumulation vector a_k = (1 - alpha)^(tau-1-k) with alpha = eta_l mu. Source: FedNova, eqs. (7), (31).
    """
    return x - eta_l * (g + mu * (x - anchor))
