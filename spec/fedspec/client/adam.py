"""Adam as a local solver, with a reading for each way in which its implementations differ."""

from __future__ import annotations

from fedspec import phrases
from fedspec.arith import Count, Scalar, Vector, zeros
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.preconditioner import corrected, rate, root
from fedspec.readings import BiasCorrection, Epsilon
from fedspec.records import record
from fedspec.rules import rule


@record
class Adam:
    """A local model, its two moments and the number of steps taken."""

    x: Vector
    m: Vector
    v: Vector
    t: Count


def begin(x: Vector) -> Adam:
    """The state at the start of a round: moments at zero."""
    return Adam(x=x, m=zeros(x), v=zeros(x), t=0)


@rule
def adam(
    state: Adam,
    g: Vector,
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    bias_correction: BiasCorrection = BiasCorrection.MOMENTS,
    epsilon: Epsilon = Epsilon.OUTSIDE,
) -> Adam:
    """Local step of Adam; t = 1 at the first step.

        m = beta1 m + (1 - beta1) g                  adam.m
        v = beta2 v + (1 - beta2) g^2                adam.v
        m_hat = m / (1 - beta1^t)                    adam.m_hat
        v_hat = v / (1 - beta2^t)                    adam.v_hat
        x = x - eta_l m_hat / (sqrt(v_hat) + eps)    adam.step
        m_hat = m                                    adam.m_hat [bias_correction=none]
        v_hat = v                                    adam.v_hat [bias_correction=none]
        m_hat = sqrt(1 - beta2^t) / (1 - beta1^t) m  adam.m_hat [bias_correction=step]
        v_hat = v                                    adam.v_hat [bias_correction=step]
        x = x - eta_l m_hat / sqrt(v_hat + eps)      adam.step [epsilon=inside]

    Source: FedAda2, Alg. 6 (L1335).
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    v = beta2 * state.v + (1 - beta2) * g**2
    m_hat = corrected(m, beta1, t, bias_correction)
    v_hat = corrected(v, beta2, t, bias_correction)
    x = state.x - rate(eta_l, beta1, beta2, t, bias_correction) * m_hat / root(v_hat, eps, epsilon)
    return Adam(x=x, m=m, v=v, t=t)


ROW = Algorithm(
    id="adam",
    family=Family.LOCAL_SOLVERS,
    place=11,
    title="Adam",
    source="FedAda2, Alg. 6 (L1335)",
    basis=Basis.READ,
    levels=("client",),
    readings=(
        Reading(
            name="kingma-2015",
            words="both moments corrected, eps outside the root (Kingma and Ba, 2015, Algorithm 1)",
            fixes={"bias_correction": "moments", "epsilon": "outside"},
        ),
        Reading(
            name="uncorrected", words="no bias correction", fixes={"bias_correction": "none", "epsilon": "outside"}
        ),
        Reading(
            name="kingma-step",
            words="the correction in the rate, eps not rescaled (Kingma and Ba, 2015, sec. 2)",
            fixes={"bias_correction": "step", "epsilon": "outside"},
        ),
        Reading(
            name="epsilon-inside", words="sqrt(v_hat + eps)", fixes={"bias_correction": "moments", "epsilon": "inside"}
        ),
    ),
    run=LocalSolver(rule=adam, begin=begin),
    costs=Costs(working="3 d"),
    traps=(
        "the exponent t of the correction is 1 at the first step",
        phrases.EPS_OUTSIDE,
        "kingma-step does not rescale eps",
    ),
)
