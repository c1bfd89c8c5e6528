"""Server AdaGrad (FedAdagrad; the server of FedAda2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fedspec.readings import BiasCorrection, Epsilon, SecondMoment
from fedspec_torch.arith import Scalar, Vector, constant, on_vectors
from fedspec_torch.preconditioner import corrected, root


@dataclass(frozen=True)
class Adaptive:
    """The server's model, its two moments and the number of rounds done."""

    x: Vector
    m: Vector
    v: Vector
    t: int


def init(x: Vector, *, v0: Scalar) -> Adaptive:
    """The first state: no momentum, second moment v_0 (Reddi et al. and FedAda2 ask v_0 >= tau^2)."""
    return Adaptive(x=x, m=torch.zeros_like(x), v=constant(v0, x), t=0)


@on_vectors
def adagrad(
    state: Adaptive,
    delta: Vector,
    *,
    eta: Scalar,
    beta1: Scalar,
    tau: Scalar,
    bias_correction: BiasCorrection = BiasCorrection.NONE,
    epsilon: Epsilon = Epsilon.OUTSIDE,
    second_moment: SecondMoment = SecondMoment.PSEUDO_GRADIENT,
) -> Adaptive:
    """One server step of FedAdagrad.

        m = beta1 m + (1 - beta1) Delta            fedadagrad.m
        v = v + Delta^2                            fedadagrad.v
        x = x + eta m / (sqrt(v) + tau)            fedadagrad.step

    Delta points downhill, so the step is added.

    Source: FedAda2, eq. (SU) (L51) and Alg. 2; Reddi et al. (2021).
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * delta
    v = state.v + (delta if second_moment is SecondMoment.PSEUDO_GRADIENT else m) ** 2
    x = state.x + eta * corrected(m, beta1, t, bias_correction) / root(v, tau, epsilon)
    return Adaptive(x=x, m=m, v=v, t=t)
