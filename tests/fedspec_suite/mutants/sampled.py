"""Mutants of FedNova with sampled clients."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_WEIGHTS = "fedspec.mixing.sampling.sampled_weights"
_STEPS = "fedspec.mixing.sampling.sampled_steps"
_UPDATE = "fedspec.mixing.sampling.sampled_update"
_SAMPLED = "fedspec.algorithms.fednova_sampled.step"
_REPLACED = {"sampled_weights": "with-replacement", "sampled_steps": "fixed"}
_UNIFORM = {"sampled_weights": "without-replacement", "sampled_steps": "fixed"}
_UNIFORM_SAMPLE = {"sampled_weights": "without-replacement", "sampled_steps": "sample"}
_TEXT = {"sampled_steps": "sum"}

_fednova_sampled = partial(Mutant, algorithms=("fednova-sampled",))

MUTANTS = (
    _fednova_sampled(
        id="fednova-sampled-not-normalised",
        words="the weights do not sum to one",
        rule=_WEIGHTS,
        old="p / sum(p)",
        new="p",
    ),
    _fednova_sampled(
        id="fednova-sampled-inverse-shares",
        words="small clients weigh more than large ones",
        rule=_WEIGHTS,
        old="p / sum(p)",
        new="(1 / p) / sum(1 / p)",
    ),
    _fednova_sampled(
        id="fednova-sampled-over-all",
        words="the draws are divided by the number of all clients",
        rule=_WEIGHTS,
        old="+ 1) / len(p)",
        new="+ 1) / clients",
        options=_REPLACED,
    ),
    _fednova_sampled(
        id="fednova-sampled-weighted-draws",
        words="clients drawn with probabilities p_i are weighted by p_i again",
        rule=_WEIGHTS,
        old="(p * 0 + 1) / len(p)",
        new="p",
        options=_REPLACED,
    ),
    _fednova_sampled(
        id="fednova-sampled-scaled-twice",
        words="N/K is applied twice",
        rule=_WEIGHTS,
        old="p * clients / len(p)",
        new="p * clients * clients / len(p) / len(p)",
        options=_UNIFORM,
    ),
    _fednova_sampled(
        id="fednova-sampled-not-scaled",
        words="N/K is not applied",
        rule=_WEIGHTS,
        old="p * clients / len(p)",
        new="p",
        options=_UNIFORM,
    ),
    _fednova_sampled(
        id="fednova-sampled-upside-down",
        words="K/N is applied",
        rule=_WEIGHTS,
        old="p * clients / len(p)",
        new="p * len(p) / clients",
        options=_UNIFORM,
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-unweighted",
        words="tau_eff is the plain mean over the sample",
        rule=_STEPS,
        old="(w if sampled_steps is SampledSteps.SAMPLE else p) * a_norms",
        new="a_norms / len(a_norms)",
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-largest",
        words="tau_eff is the largest of the sample",
        rule=_STEPS,
        old="sum((w if sampled_steps is SampledSteps.SAMPLE else p) * a_norms)",
        new="greatest(w * 0 + a_norms)",
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-squared",
        words="the weights enter tau_eff twice",
        rule=_STEPS,
        old="p) * a_norms",
        new="p) * w * a_norms",
    ),
    _fednova_sampled(
        id="fednova-sampled-constant-ignored",
        words="the constant tau_eff is taken to be 1",
        rule=_STEPS,
        old="return tau_eff",
        new="return tau_eff / tau_eff",
        options=_REPLACED,
    ),
    _fednova_sampled(
        id="fednova-sampled-sum-over-mean",
        words="the undivided sum is divided by the number of draws",
        rule=_STEPS,
        old="else p) * a_norms",
        new="else p / len(p)) * a_norms",
        options=_TEXT,
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-by-shares",
        words="tau_eff of draws without replacement counts the shares p_i, without m/q",
        rule=_STEPS,
        old="(w if sampled_steps is SampledSteps.SAMPLE else p)",
        new="p",
        options=_UNIFORM_SAMPLE,
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-of-mean",
        words="tau_eff of draws without replacement is a weighted mean over the sample",
        rule=_STEPS,
        old="(w if sampled_steps is SampledSteps.SAMPLE else p)",
        new="p / sum(p)",
        options=_UNIFORM_SAMPLE,
    ),
    _fednova_sampled(
        id="fednova-sampled-uphill",
        words="the step goes uphill",
        rule=_UPDATE,
        old="x - tau_eff *",
        new="x + tau_eff *",
    ),
    _fednova_sampled(
        id="fednova-sampled-tau-eff-unused",
        words="tau_eff is computed and not used",
        rule=_UPDATE,
        old="tau_eff * (weigh",
        new="(weigh",
    ),
    _fednova_sampled(
        id="fednova-sampled-rate-lost",
        words="the client rate is left out of the step",
        rule=_UPDATE,
        old=" * eta_l)",
        new=")",
    ),
    _fednova_sampled(
        id="fednova-sampled-shares-of-sample",
        words="the shares p_i are those among the sample",
        rule=_SAMPLED,
        old="p = state.p[numbered(S, state.p)]",
        new="p = state.p[S] / sum(state.p[S])",
        options=_UNIFORM,
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-normaliser",
        words="changes are normalised by tau_i instead of ||a_i||_1",
        rule=_SAMPLED,
        old="a_i = local_norm(h, tau)",
        new="a_i = numbers([tau], x)[0]",
        options={"solver": "momentum"},
    ),
)
