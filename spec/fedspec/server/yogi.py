"""Server Yogi (FedYogi; external to the five papers)."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector, sign
from fedspec.preconditioner import corrected, rate, root
from fedspec.readings import BiasCorrection, Epsilon, SecondMoment
from fedspec.rules import rule
from fedspec.server.adagrad import Adaptive


@rule
def yogi(
    state: Adaptive,
    delta: Vector,
    *,
    eta: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    tau: Scalar,
    bias_correction: BiasCorrection = BiasCorrection.NONE,
    epsilon: Epsilon = Epsilon.OUTSIDE,
    second_moment: SecondMoment = SecondMoment.PSEUDO_GRADIENT,
) -> Adaptive:
    """Server step of FedYogi.

        m = beta1 m + (1 - beta1) Delta                fedyogi.m
        v = v - (1 - beta2) Delta^2 sign(v - Delta^2)  fedyogi.v
        x = x + eta m / (sqrt(v) + tau)                fedyogi.step
        m_hat = m / (1 - beta1^t)                      fedyogi.m_hat [bias_correction=moments]
        v_hat = v / (1 - beta2^t)                      fedyogi.v_hat [bias_correction=moments]
        v = v - (1 - beta2) m^2 sign(v - m^2)          fedyogi.v [second_moment=momentum]
        x = x + eta m / sqrt(v + tau)                  fedyogi.step [epsilon=inside]
        x = x + eta m_hat / (sqrt(v_hat) + tau)        fedyogi.step [bias_correction=moments]
        x = x + eta m_hat / sqrt(v_hat + tau)          fedyogi.step [bias_correction=moments, epsilon=inside]
        eta_t = eta sqrt(1 - beta2^t) / (1 - beta1^t)  fedyogi.eta_t [bias_correction=step]
        x = x + eta_t m / (sqrt(v) + tau)              fedyogi.step [bias_correction=step]
        x = x + eta_t m / sqrt(v + tau)                fedyogi.step [bias_correction=step, epsilon=inside]

    A zero Delta leaves v as it is (FedAdam's would decay). External: Reddi et al. (2021), Algorithm 2.
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * delta
    u = delta if second_moment is SecondMoment.PSEUDO_GRADIENT else m
    v = state.v - (1 - beta2) * u**2 * sign(state.v - u**2)
    m_hat = corrected(m, beta1, t, bias_correction)
    v_hat = corrected(v, beta2, t, bias_correction)
    x = state.x + rate(eta, beta1, beta2, t, bias_correction) * m_hat / root(v_hat, tau, epsilon)
    return Adaptive(x=x, m=m, v=v, t=t)
