"""Yogi as a local solver (external to the five papers)."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector, constant, sign, zeros
from fedspec.client.adam import Adam
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.preconditioner import corrected, rate, root
from fedspec.readings import BiasCorrection, Epsilon
from fedspec.rules import checked, rule


@checked
def begin(x: Vector, *, v0: Scalar) -> Adam:
    """The state at the start of a round: no momentum, second moment v_0."""
    return Adam(x=x, m=zeros(x), v=constant(v0, x), t=0)


@rule
def yogi(
    state: Adam,
    g: Vector,
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    bias_correction: BiasCorrection = BiasCorrection.NONE,
    epsilon: Epsilon = Epsilon.OUTSIDE,
) -> Adam:
    """Local step of Yogi: the second moment changes by at most (1 - beta2) g^2, however large it is.

        m = beta1 m + (1 - beta1) g                      yogi.m
        v = v - (1 - beta2) g^2 sign(v - g^2)            yogi.v
        x = x - eta_l m / (sqrt(v) + eps)                yogi.step
        m_hat = m / (1 - beta1^t)                        yogi.m_hat [bias_correction=moments]
        v_hat = v / (1 - beta2^t)                        yogi.v_hat [bias_correction=moments]
        x = x - eta_l m / sqrt(v + eps)                  yogi.step [epsilon=inside]
        x = x - eta_l m_hat / (sqrt(v_hat) + eps)        yogi.step [bias_correction=moments]
        x = x - eta_l m_hat / sqrt(v_hat + eps)          yogi.step [bias_correction=moments, epsilon=inside]
        eta_t = eta_l sqrt(1 - beta2^t) / (1 - beta1^t)  yogi.eta_t [bias_correction=step]
        x = x - eta_t m / (sqrt(v) + eps)                yogi.step [bias_correction=step]
        x = x - eta_t m / sqrt(v + eps)                  yogi.step [bias_correction=step, epsilon=inside]

    External: Zaheer et al. (2018), Algorithm 2.
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    v = state.v - (1 - beta2) * g**2 * sign(state.v - g**2)
    m_hat = corrected(m, beta1, t, bias_correction)
    v_hat = corrected(v, beta2, t, bias_correction)
    x = state.x - rate(eta_l, beta1, beta2, t, bias_correction) * m_hat / root(v_hat, eps, epsilon)
    return Adam(x=x, m=m, v=v, t=t)


ROW = Algorithm(
    id="yogi",
    family=Family.LOCAL_SOLVERS,
    place=12,
    title="Yogi",
    source="external: Zaheer et al. (2018)",
    basis=Basis.MEMORY,
    levels=("client",),
    readings=(
        Reading(
            name="zaheer-2018",
            words="no bias correction, m_0 = 0",
            fixes={"bias_correction": "none", "epsilon": "outside"},
        ),
        Reading(
            name="zaheer-2018-corrected",
            words="both moments corrected as in Adam, m_0 = 0",
            fixes={"bias_correction": "moments", "epsilon": "outside"},
        ),
        Reading(
            name="epsilon-inside",
            words="as zaheer-2018, but sqrt(v + eps)",
            fixes={"bias_correction": "none", "epsilon": "inside"},
        ),
    ),
    run=LocalSolver(rule=yogi, begin=begin),
    costs=Costs(working="3 d"),
    traps=(
        "the sign is that of v - g^2: turned round, v runs away",
        "a zero gradient leaves v as it is",
        "m_0 is zero, whatever v_0 is",
    ),
)
