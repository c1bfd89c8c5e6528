"""AdaGrad as a local solver."""

from __future__ import annotations

from dataclasses import dataclass

from fedspec.readings import Epsilon
from fedspec_torch.arith import Mask, Scalar, Stack, constant, keep, on_stacks
from fedspec_torch.preconditioner import root


@dataclass(frozen=True)
class AdaGrad:
    """The local models and the sums of their squared gradients."""

    x: Stack
    v: Stack


def begin(x: Stack, *, v0: Scalar = 0) -> AdaGrad:
    """The state at the start of a round; FedAda2 starts at v_0 = 0."""
    return AdaGrad(x=x, v=constant(v0, x))


@on_stacks
def adagrad(
    state: AdaGrad,
    g: Stack,
    *,
    eta_l: Scalar,
    eps: Scalar,
    epsilon: Epsilon = Epsilon.OUTSIDE,
    active: Mask | None = None,
) -> AdaGrad:
    """One local step of AdaGrad.

        v = v + g^2                                adagrad.v
        x = x - eta_l g / (sqrt(v) + eps)          adagrad.step

    The step uses the new v.

    Source: FedAda2, Alg. 9 with z = 1 (L1490).
    """
    v = state.v + g**2
    x = state.x - eta_l * g / root(v, eps, epsilon)
    return keep(active, AdaGrad(x=x, v=v), state)
