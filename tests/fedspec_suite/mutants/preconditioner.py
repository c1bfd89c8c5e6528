"""Systematic mutants of what the adaptive rules share: the denominator and the bias correction."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_P = "fedspec.preconditioner."
_ADAPTIVE = ("adagrad", "adam", "yogi", "amsgrad", "fedadagrad", "fedadam", "fedyogi", "fedamsgrad")
_CORRECTED = ("adam", "yogi", "amsgrad", "fedadam", "fedyogi", "fedamsgrad")
_MAXIMUM = ("amsgrad", "fedamsgrad")
_STEP = ("adam", "fedadam", "fedyogi")
_MOMENTS = {"bias_correction": "moments"}
_IN_STEP = {"bias_correction": "step"}
_OUTSIDE = {"epsilon": "outside"}
_INSIDE = {"epsilon": "inside"}

MUTANTS = tuple(
    Mutant(id=name, words=words, algorithms=algorithms, rule=f"{_P}{rule}", old=old, new=new, options=options)
    for rule, name, words, algorithms, old, new, options in (
        (
            "root",
            "root-missing",
            "the root is missing",
            _ADAPTIVE,
            "return sqrt(v) + eps",
            "return v + eps",
            _OUTSIDE,
        ),
        (
            "root",
            "root-of-squared-epsilon",
            "eps squared and inside the root: sqrt(v + eps^2)",
            _ADAPTIVE,
            "return sqrt(v) + eps",
            "return sqrt(v + eps * eps)",
            _OUTSIDE,
        ),
        (
            "root",
            "root-floor",
            "eps is the least denominator: max(sqrt(v), eps)",
            _ADAPTIVE,
            "return sqrt(v) + eps",
            "return maximum(sqrt(v), eps)",
            _OUTSIDE,
        ),
        (
            "root",
            "root-epsilon-twice",
            "eps inside the root and outside",
            _ADAPTIVE,
            "else sqrt(v + eps)",
            "else sqrt(v + eps) + eps",
            _INSIDE,
        ),
        (
            "corrected",
            "correction-multiplies",
            "the moments are multiplied by 1 - beta^t",
            _CORRECTED,
            "moment / (1 - beta**t)",
            "moment * (1 - beta**t)",
            _MOMENTS,
        ),
        (
            "corrected",
            "correction-constant",
            "the correction stays that of the first step",
            _CORRECTED,
            "beta**t",
            "beta",
            _MOMENTS,
        ),
        (
            "around",
            "maximum-corrected-twice",
            "the second moment is corrected before the maximum and after",
            _MAXIMUM,
            "(correction, BiasCorrection.NONE)",
            "(correction, correction)",
            _MOMENTS,
        ),
        (
            "around",
            "maximum-uncorrected",
            "the second moment is not corrected, the first is",
            _MAXIMUM,
            "(correction, BiasCorrection.NONE)",
            "(BiasCorrection.NONE, BiasCorrection.NONE)",
            _MOMENTS,
        ),
        (
            "rate",
            "rate-no-root",
            "the correction of the rate lacks its root",
            _STEP,
            "sqrt(1 - beta2**t)",
            "(1 - beta2**t)",
            _IN_STEP,
        ),
        (
            "rate",
            "rate-first-moment-only",
            "the rate is corrected for the first moment only",
            _STEP,
            "sqrt(1 - beta2**t) /",
            "1 /",
            _IN_STEP,
        ),
        (
            "rate",
            "rate-betas-swapped",
            "beta1 and beta2 change places in the correction of the rate",
            _STEP,
            "sqrt(1 - beta2**t) / (1 - beta1**t)",
            "sqrt(1 - beta1**t) / (1 - beta2**t)",
            _IN_STEP,
        ),
    )
)
