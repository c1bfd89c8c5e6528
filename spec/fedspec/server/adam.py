"""Server Adam (FedAdam)."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.preconditioner import corrected, rate, root
from fedspec.readings import BiasCorrection, Epsilon, SecondMoment
from fedspec.rules import rule
from fedspec.server.adagrad import Adaptive


@rule
def adam(
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
    """Server step of FedAdam; no bias correction in the published box.

        m = beta1 m + (1 - beta1) Delta                fedadam.m
        v = beta2 v + (1 - beta2) Delta^2              fedadam.v
        x = x + eta m / (sqrt(v) + tau)                fedadam.step
        m_hat = m / (1 - beta1^t)                      fedadam.m_hat [bias_correction=moments]
        v_hat = v / (1 - beta2^t)                      fedadam.v_hat [bias_correction=moments]
        v = beta2 v + (1 - beta2) m^2                  fedadam.v [second_moment=momentum]
        x = x + eta m / sqrt(v + tau)                  fedadam.step [epsilon=inside]
        x = x + eta m_hat / (sqrt(v_hat) + tau)        fedadam.step [bias_correction=moments]
        x = x + eta m_hat / sqrt(v_hat + tau)          fedadam.step [bias_correction=moments, epsilon=inside]
        eta_t = eta sqrt(1 - beta2^t) / (1 - beta1^t)  fedadam.eta_t [bias_correction=step]
        x = x + eta_t m / (sqrt(v) + tau)              fedadam.step [bias_correction=step]
        x = x + eta_t m / sqrt(v + tau)                fedadam.step [bias_correction=step, epsilon=inside]

    Source: FedAda2, App. C.2 (L1136); Reddi et al. (2021), Algorithm 2.
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * delta
    v = beta2 * state.v + (1 - beta2) * (delta if second_moment is SecondMoment.PSEUDO_GRADIENT else m) ** 2
    m_hat = corrected(m, beta1, t, bias_correction)
    v_hat = corrected(v, beta2, t, bias_correction)
    x = state.x + rate(eta, beta1, beta2, t, bias_correction) * m_hat / root(v_hat, tau, epsilon)
    return Adaptive(x=x, m=m, v=v, t=t)
