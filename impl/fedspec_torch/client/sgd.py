"""Stochastic gradient descent, with a constant rate or one that decays inside the round."""

from __future__ import annotations

import torch

from fedspec_torch.arith import Mask, Scalar, Stack, keep, on_stacks


@on_stacks
def sgd(x: Stack, g: Stack, *, eta_l: Scalar, active: Mask | None = None, out: Stack | None = None) -> Stack:
    """One local step of gradient descent.

        x = x - eta_l g                            sgd.step

    The new models are written to ``out``, which may be x itself; None: to a new stack.

    Source: FedNova, eq. (2) and App. B (L52).
    """
    if active is None:
        return torch.sub(x, g, alpha=eta_l, out=out)
    return keep(active, torch.sub(x, g, alpha=eta_l), x, out=out)


@on_stacks
def decayed_sgd(x: Stack, g: Stack, *, k: int, eta_l: Scalar, gamma: Scalar, active: Mask | None = None) -> Stack:
    """Local step k = 0, 1, ... of gradient descent whose rate falls by gamma at each step.

        x = x - eta_l gamma^k g                    decayed-sgd.step

    Source: FedNova, App. B.
    """
    return keep(active, x - eta_l * gamma**k * g, x)
