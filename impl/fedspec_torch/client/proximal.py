"""Gradient descent on the proximal objective of FedProx."""

from __future__ import annotations

from fedspec_torch.arith import Mask, Scalar, Stack, keep, on_stacks


@on_stacks
def proximal_sgd(x: Stack, g: Stack, anchor: Stack, *, eta_l: Scalar, mu: Scalar, active: Mask | None = None) -> Stack:
    """One local step on F_i(x) + mu/2 ||x - anchor||^2, the anchor being the model that the round started from.

        x = x - eta_l (g + mu (x - anchor))        proximal-sgd.step

    Source: FedNova, eqs. (7), (31).
    """
    return keep(active, x - eta_l * (g + mu * (x - anchor)), x)
