"""Server AdaGrad (FedAdagrad; the server of FedAda2)."""

from __future__ import annotations

from fedspec.arith import Count, Scalar, Vector, constant, zeros
from fedspec.errors import ParameterError
from fedspec.preconditioner import corrected, root
from fedspec.readings import BiasCorrection, Epsilon, SecondMoment
from fedspec.records import record
from fedspec.rules import checked, rule


@record
class Adaptive:
    """The server's model, its two moments and the number of rounds done."""

    x: Vector
    m: Vector
    v: Vector
    t: Count


@checked
def init(x: Vector, *, v0: Scalar) -> Adaptive:
    """Initial state: no momentum, second moment v_0 (Reddi et al. and FedAda2 require v_0 >= tau^2)."""
    return Adaptive(x=x, m=zeros(x), v=constant(v0, x), t=0)


def check_summed(correction: BiasCorrection) -> None:
    """Raise ParameterError for a bias correction that needs beta2: AdaGrad's v is a sum without decay.

    Raises:
        ParameterError: ``bias_correction`` multiplies the rate by sqrt(1 - beta2^t) / (1 - beta1^t).
    """
    if correction is BiasCorrection.STEP:
        raise ParameterError(
            "bias_correction: got step, which takes sqrt(1 - beta2^t); AdaGrad's v is a sum and has no beta2: "
            "choose moments, which corrects only m, or none"
        )


@rule
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
    """Server step of FedAdagrad.

        m = beta1 m + (1 - beta1) Delta                  fedadagrad.m
        v = v + Delta^2                                  fedadagrad.v
        x = x + eta m / (sqrt(v) + tau)                  fedadagrad.step
        v = v + m^2                                      fedadagrad.v [second_moment=momentum]
        x = x + eta m / sqrt(v + tau)                    fedadagrad.step [epsilon=inside]
        x = x + eta m / (1 - beta1^t) / (sqrt(v) + tau)  fedadagrad.step [bias_correction=moments]
        x = x + eta m / (1 - beta1^t) / sqrt(v + tau)    fedadagrad.step [bias_correction=moments, epsilon=inside]

    Delta points downhill, so the step is added. Source: FedAda2, eq. (SU) (L100) and Alg. 2; Reddi et al. (2021).
    """
    check_summed(bias_correction)
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * delta
    v = state.v + (delta if second_moment is SecondMoment.PSEUDO_GRADIENT else m) ** 2
    x = state.x + eta * corrected(m, beta1, t, bias_correction) / root(v, tau, epsilon)
    return Adaptive(x=x, m=m, v=v, t=t)
