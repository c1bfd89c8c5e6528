"""Server AMSGrad: FedAMSGrad of the AFGA paper, and the two options of FedAMS."""

from __future__ import annotations

from dataclasses import dataclass

from fedspec.arith import Scalar, Vector, maximum, sqrt, zeros
from fedspec.preconditioner import around, corrected, rate, root
from fedspec.readings import AmsOption, BiasCorrection, Epsilon, Maximum
from fedspec.rules import general, rule


@dataclass(frozen=True)
class AmsGrad:
    """The server's model, its two moments, the running maximum of the second and the number of rounds done."""

    x: Vector
    m: Vector
    v: Vector
    v_hat: Vector
    t: int


def init(x: Vector) -> AmsGrad:
    """The first state: everything at zero (v_hat_0 = 0 is not printed, the proofs need it)."""
    return AmsGrad(x=x, m=zeros(x), v=zeros(x), v_hat=zeros(x), t=0)


@rule
def amsgrad(state: AmsGrad, delta: Vector, *, eta: Scalar, beta1: Scalar, beta2: Scalar, eps: Scalar) -> AmsGrad:
    """One server step of FedAMSGrad; eps stands inside the root and there is no bias correction.

        m = beta1 m + (1 - beta1) Delta            fedamsgrad.m
        v = beta2 v + (1 - beta2) Delta^2          fedamsgrad.v
        v_hat = max(v_hat, v)                      fedamsgrad.v_hat
        x = x + eta m / sqrt(v_hat + eps)          fedamsgrad.step

    Delta points downhill, so the step is added. Source: AFGA, eq. (2) (L112-130).
    """
    m = beta1 * state.m + (1 - beta1) * delta
    v = beta2 * state.v + (1 - beta2) * delta**2
    v_hat = maximum(state.v_hat, v)
    x = state.x + eta * m / sqrt(v_hat + eps)
    return AmsGrad(x=x, m=m, v=v, v_hat=v_hat, t=state.t + 1)


@general(amsgrad)
def general_amsgrad(
    state: AmsGrad,
    delta: Vector,
    *,
    eta: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    bias_correction: BiasCorrection = BiasCorrection.NONE,
    epsilon: Epsilon = Epsilon.INSIDE,
    maximum_of: Maximum = Maximum.BEFORE,
) -> AmsGrad:
    """:func:`amsgrad` in every reading; its defaults are the rule as it is printed.

    Source: AFGA, eq. (2) (L112-130).
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * delta
    v = beta2 * state.v + (1 - beta2) * delta**2
    before, after = around(maximum_of, bias_correction)
    v_hat = maximum(state.v_hat, corrected(v, beta2, t, before))
    v_step = corrected(v_hat, beta2, t, after)
    m_hat = corrected(m, beta1, t, bias_correction)
    x = state.x + rate(eta, beta1, beta2, t, bias_correction) * m_hat / root(v_step, eps, epsilon)
    return AmsGrad(x=x, m=m, v=v, v_hat=v_hat, t=t)


@rule
def ams(
    state: AmsGrad,
    delta: Vector,
    *,
    eta: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    option: AmsOption = AmsOption.ONE,
) -> AmsGrad:
    """One server step of FedAMS; in option 1 eps enters the maximum, in option 2 the root (FedAMSGrad).

        m = beta1 m + (1 - beta1) Delta            fedams.m
        v = beta2 v + (1 - beta2) Delta^2          fedams.v
        v_hat = max(v_hat, v, eps)                 fedams.v_hat
        x = x + eta m / sqrt(v_hat)                fedams.step

    External: Wang, Lin and Chen (2022), Algorithm 1, which the AFGA paper names in its footnote 5.
    """
    m = beta1 * state.m + (1 - beta1) * delta
    v = beta2 * state.v + (1 - beta2) * delta**2
    v_hat = maximum(state.v_hat, v)
    if option is AmsOption.ONE:
        v_hat = maximum(v_hat, eps)
        x = state.x + eta * m / sqrt(v_hat)
    else:
        x = state.x + eta * m / sqrt(v_hat + eps)
    return AmsGrad(x=x, m=m, v=v, v_hat=v_hat, t=state.t + 1)
