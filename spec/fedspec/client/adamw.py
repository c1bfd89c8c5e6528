"""AdamW: Adam with weight decay applied to the model directly, not through the moments.

External: Loshchilov and Hutter (2019), "Decoupled Weight Decay Regularization", arXiv 1711.05101, whose Algorithm 2 was
opened. Its line 12 is x = x - eta_t (alpha m_hat / (sqrt(v_hat) + eps) + lambda x), so that the schedule multiplies the
decay and the rate does not: the reading loshchilov-2019, for eta_t = 1. The canonical reading is torch's, since that is
what the name stands for in code, DiLoCo's included.
"""

from __future__ import annotations

from fedspec import phrases
from fedspec.arith import Scalar, Vector
from fedspec.client.adam import Adam, begin
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.preconditioner import corrected, rate, root
from fedspec.readings import BiasCorrection, Decay, Epsilon
from fedspec.rules import rule

__all__ = ["ROW", "adamw", "begin"]


@rule
def adamw(
    state: Adam,
    g: Vector,
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    wd: Scalar,
    bias_correction: BiasCorrection = BiasCorrection.MOMENTS,
    epsilon: Epsilon = Epsilon.OUTSIDE,
    decay: Decay = Decay.RATE,
) -> Adam:
    """Local step of AdamW; t = 1 at the first step.

        m = beta1 m + (1 - beta1) g                                 adamw.m
        v = beta2 v + (1 - beta2) g^2                               adamw.v
        m_hat = m / (1 - beta1^t)                                   adamw.m_hat
        v_hat = v / (1 - beta2^t)                                   adamw.v_hat
        x = x - eta_l wd x - eta_l m_hat / (sqrt(v_hat) + eps)      adamw.step
        m_hat = m                                                   adamw.m_hat [bias_correction=none]
        v_hat = v                                                   adamw.v_hat [bias_correction=none]
        m_hat = sqrt(1 - beta2^t) / (1 - beta1^t) m                 adamw.m_hat [bias_correction=step]
        v_hat = v                                                   adamw.v_hat [bias_correction=step]
        x = x - eta_l wd x - eta_l m_hat / sqrt(v_hat + eps)        adamw.step [epsilon=inside]
        x = x - wd x - eta_l m_hat / (sqrt(v_hat) + eps)            adamw.step [decay=alone]
        x = (1 - eta_l wd) (x - eta_l m_hat / (sqrt(v_hat) + eps))  adamw.step [decay=after]
        x = x - wd x - eta_l m_hat / sqrt(v_hat + eps)              adamw.step [epsilon=inside, decay=alone]
        x = (1 - eta_l wd) (x - eta_l m_hat / sqrt(v_hat + eps))    adamw.step [epsilon=inside, decay=after]

    External: Loshchilov and Hutter (2019), Algorithm 2; torch 2.13, torch/optim/adam.py:416-546.
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    v = beta2 * state.v + (1 - beta2) * g**2
    m_hat = corrected(m, beta1, t, bias_correction)
    v_hat = corrected(v, beta2, t, bias_correction)
    step = rate(eta_l, beta1, beta2, t, bias_correction) * m_hat / root(v_hat, eps, epsilon)
    shrunk = wd if decay is Decay.ALONE else eta_l * wd
    x = (1 - shrunk) * (state.x - step) if decay is Decay.AFTER else state.x - shrunk * state.x - step
    return Adam(x=x, m=m, v=v, t=t)


ROW = Algorithm(
    id="adamw",
    family=Family.LOCAL_SOLVERS,
    place=22,
    title="AdamW: Adam with a decay beside its step",
    source="external: Loshchilov and Hutter (2019), Algorithm 2, as torch has it",
    basis=Basis.READ,
    levels=("client",),
    readings=(
        Reading(
            name="torch",
            words="the old model decays by eta_l wd, both moments corrected, eps outside the root (torch.optim.AdamW)",
            fixes={"bias_correction": "moments", "epsilon": "outside", "decay": "rate"},
        ),
        Reading(
            name="loshchilov-2019",
            words="the old model decays by wd alone, both moments corrected, eps outside the root (Algorithm 2, line "
            "12, with eta_t = 1; a schedule multiplies wd as it does the rate)",
            fixes={"bias_correction": "moments", "epsilon": "outside", "decay": "alone"},
        ),
        Reading(
            name="loshchilov-code",
            words="the old model decays by wd alone, the correction in the rate, eps not rescaled (loshchil/"
            "AdamW-and-SGDW at 0ae5185, UPDATETORCHFILES/adam.lua:64-75)",
            fixes={"bias_correction": "step", "epsilon": "outside", "decay": "alone"},
        ),
        Reading(
            name="transformers",
            words="the new model decays by eta_l wd, the correction in the rate, eps not rescaled (huggingface/"
            "transformers at 8e04e9e, pytorch_transformers/optimization.py, AdamW.step)",
            fixes={"bias_correction": "step", "epsilon": "outside", "decay": "after"},
        ),
        Reading(
            name="bert",
            words="no bias correction (google-research/bert at eedf571, optimization.py:130-151)",
            fixes={"bias_correction": "none", "epsilon": "outside", "decay": "rate"},
        ),
        Reading(
            name="epsilon-inside",
            words="as torch, but sqrt(v_hat + eps): optax.adamw with eps_root (google-deepmind/optax at "
            "006cebd, optax/_src/transform.py, scale_by_adam)",
            fixes={"bias_correction": "moments", "epsilon": "inside", "decay": "rate"},
        ),
    ),
    run=LocalSolver(rule=adamw, begin=begin),
    costs=Costs(working="3 d"),
    traps=(
        "the decay is no part of the gradient: added to g it enters both moments, which is Adam under L2",
        "the decay is multiplied by the rate, as torch and optax have it; as the authors print and have it, it is not",
        "what decays is the model before the step, not after it",
        "the exponent t of the correction is 1 at the first step",
        phrases.EPS_OUTSIDE,
    ),
    symbols={"wd": "lambda", "eta_l": "alpha"},
)
