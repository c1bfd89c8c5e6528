"""AMSGrad as a local solver (external to the five papers), in its three public definitions."""

from __future__ import annotations

from fedspec.arith import Count, Scalar, Vector, maximum, zeros
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.preconditioner import around, corrected, rate, root
from fedspec.readings import BiasCorrection, Epsilon, Maximum
from fedspec.records import record
from fedspec.rules import rule


@record
class AmsGrad:
    """A local model, its two moments, the running maximum of the second and the number of steps taken."""

    x: Vector
    m: Vector
    v: Vector
    v_hat: Vector
    t: Count


def begin(x: Vector) -> AmsGrad:
    """The state at the start of a round: everything at zero."""
    return AmsGrad(x=x, m=zeros(x), v=zeros(x), v_hat=zeros(x), t=0)


@rule
def amsgrad(
    state: AmsGrad,
    g: Vector,
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    bias_correction: BiasCorrection = BiasCorrection.NONE,
    epsilon: Epsilon = Epsilon.OUTSIDE,
    maximum_of: Maximum = Maximum.BEFORE,
) -> AmsGrad:
    """Local step of AMSGrad.

        m = beta1 m + (1 - beta1) g                      amsgrad.m
        v = beta2 v + (1 - beta2) g^2                    amsgrad.v
        v_hat = max(v_hat, v)                            amsgrad.v_hat
        x = x - eta_l m / (sqrt(v_hat) + eps)            amsgrad.step
        m_hat = m / (1 - beta1^t)                        amsgrad.m_hat [bias_correction=moments]
        v_hat = max(v_hat, v / (1 - beta2^t))  amsgrad.v_hat [bias_correction=moments, maximum_of=after-correction]
        v_step = v_hat / (1 - beta2^t)                   amsgrad.v_step [bias_correction=moments]
        v_step = v_hat  amsgrad.v_step [bias_correction=moments, maximum_of=after-correction]
        x = x - eta_l m / sqrt(v_hat + eps)              amsgrad.step [epsilon=inside]
        x = x - eta_l m_hat / (sqrt(v_step) + eps)       amsgrad.step [bias_correction=moments]
        x = x - eta_l m_hat / sqrt(v_step + eps)         amsgrad.step [bias_correction=moments, epsilon=inside]
        eta_t = eta_l sqrt(1 - beta2^t) / (1 - beta1^t)  amsgrad.eta_t [bias_correction=step]
        x = x - eta_t m / (sqrt(v_hat) + eps)            amsgrad.step [bias_correction=step]
        x = x - eta_t m / sqrt(v_hat + eps)              amsgrad.step [bias_correction=step, epsilon=inside]

    External: Reddi, Kale and Kumar (2018), Algorithm 2, which has no correction and no eps.
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    v = beta2 * state.v + (1 - beta2) * g**2
    before, after = around(maximum_of, bias_correction)
    v_hat = maximum(state.v_hat, corrected(v, beta2, t, before))
    v_step = corrected(v_hat, beta2, t, after)
    m_hat = corrected(m, beta1, t, bias_correction)
    x = state.x - rate(eta_l, beta1, beta2, t, bias_correction) * m_hat / root(v_step, eps, epsilon)
    return AmsGrad(x=x, m=m, v=v, v_hat=v_hat, t=t)


ROW = Algorithm(
    id="amsgrad",
    family=Family.LOCAL_SOLVERS,
    place=13,
    title="AMSGrad",
    source="external: Reddi, Kale and Kumar (2018)",
    basis=Basis.MEMORY,
    levels=("client",),
    readings=(
        Reading(
            name="reddi-2018",
            words="no bias correction; eps outside the root (the paper's is 0)",
            fixes={"bias_correction": "none", "epsilon": "outside", "maximum_of": "before-correction"},
        ),
        Reading(
            name="max-then-correct",
            words="the maximum of the raw second moments, corrected in the step",
            fixes={"bias_correction": "moments", "epsilon": "outside", "maximum_of": "before-correction"},
        ),
        Reading(
            name="correct-then-max",
            words="the maximum of the corrected second moments",
            fixes={"bias_correction": "moments", "epsilon": "outside", "maximum_of": "after-correction"},
        ),
        Reading(
            name="epsilon-inside",
            words="as reddi-2018, but sqrt(v_hat + eps)",
            fixes={"bias_correction": "none", "epsilon": "inside", "maximum_of": "before-correction"},
        ),
    ),
    run=LocalSolver(rule=amsgrad, begin=begin, plays={"maximum_of": ("bias_correction=moments",)}),
    costs=Costs(working="4 d"),
    traps=(
        "v is updated from v, not from v_hat",
        "whether the maximum is taken of raw or of corrected moments is a reading",
    ),
)
