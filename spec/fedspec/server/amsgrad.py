"""Server AMSGrad: FedAMSGrad of the AFGA paper, and the two options of FedAMS."""

from __future__ import annotations

from fedspec.arith import Count, Scalar, Vector, maximum, sqrt, zeros
from fedspec.preconditioner import around, corrected, rate, root
from fedspec.readings import AmsOption, BiasCorrection, Epsilon, Maximum
from fedspec.records import record
from fedspec.rules import rule


@record
class AmsGrad:
    """The server's model, its two moments, the running maximum of the second and the number of rounds done."""

    x: Vector
    m: Vector
    v: Vector
    v_hat: Vector
    t: Count


def init(x: Vector) -> AmsGrad:
    """Initial state: everything at zero (the proofs need v_hat_0 = 0, which the paper doesn't print)."""
    return AmsGrad(x=x, m=zeros(x), v=zeros(x), v_hat=zeros(x), t=0)


@rule
def amsgrad(
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
    """Server step of FedAMSGrad; eps is inside the root and there is no bias correction.

        m = beta1 m + (1 - beta1) Delta                fedamsgrad.m
        v = beta2 v + (1 - beta2) Delta^2              fedamsgrad.v
        v_hat = max(v_hat, v)                          fedamsgrad.v_hat
        x = x + eta m / sqrt(v_hat + eps)              fedamsgrad.step
        m_hat = m / (1 - beta1^t)                      fedamsgrad.m_hat [bias_correction=moments]
        v_hat = max(v_hat, v / (1 - beta2^t))  fedamsgrad.v_hat [bias_correction=moments, maximum_of=after-correction]
        v_step = v_hat / (1 - beta2^t)                 fedamsgrad.v_step [bias_correction=moments]
        v_step = v_hat  fedamsgrad.v_step [bias_correction=moments, maximum_of=after-correction]
        x = x + eta m / (sqrt(v_hat) + eps)            fedamsgrad.step [epsilon=outside]
        x = x + eta m_hat / sqrt(v_step + eps)         fedamsgrad.step [bias_correction=moments]
        x = x + eta m_hat / (sqrt(v_step) + eps)       fedamsgrad.step [bias_correction=moments, epsilon=outside]
        eta_t = eta sqrt(1 - beta2^t) / (1 - beta1^t)  fedamsgrad.eta_t [bias_correction=step]
        x = x + eta_t m / sqrt(v_hat + eps)            fedamsgrad.step [bias_correction=step]
        x = x + eta_t m / (sqrt(v_hat) + eps)          fedamsgrad.step [bias_correction=step, epsilon=outside]

    Delta points downhill, so the step is added. Source: AFGA, eq. (2) (L112-130).
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
    """Server step of FedAMS; in option 1 eps enters the maximum, in option 2 the root (FedAMSGrad).

        m = beta1 m + (1 - beta1) Delta            fedams.m
        v = beta2 v + (1 - beta2) Delta^2          fedams.v
        v_hat = max(v_hat, v, eps)                 fedams.v_hat
        x = x + eta m / sqrt(v_hat)                fedams.step
        v_hat = max(v_hat, v)                      fedams.v_hat [option=2]
        x = x + eta m / sqrt(v_hat + eps)          fedams.step [option=2]

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


@rule
def corrected_ams(state: AmsGrad, delta: Vector, *, eta: Scalar, beta1: Scalar, beta2: Scalar, eps: Scalar) -> AmsGrad:
    """Server step of FedAMS with bias correction after the maximum is taken; t = 1 at the first step.

        m = beta1 m + (1 - beta1) Delta                fedams-code.m
        v = beta2 v + (1 - beta2) Delta^2              fedams-code.v
        v_hat = max(v_hat, v)                          fedams-code.v_hat
        m_hat = m / (1 - beta1^t)                      fedams-code.m_hat
        v_max = v_hat / (1 - beta2^t)                  fedams-code.v_max
        x = x + eta m_hat / (sqrt(v_max) + eps)        fedams-code.step

    External: the code of Wang, Lin and Chen (2022).
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * delta
    v = beta2 * state.v + (1 - beta2) * delta**2
    v_hat = maximum(state.v_hat, v)
    v_max = v_hat / (1 - beta2**t)
    m_hat = m / (1 - beta1**t)
    x = state.x + eta * m_hat / (sqrt(v_max) + eps)
    return AmsGrad(x=x, m=m, v=v, v_hat=v_hat, t=t)
