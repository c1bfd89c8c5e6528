"""Systematic mutants of what the adaptive rules share: the denominator and the bias correction."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_P = "fedspec.preconditioner."
_ADAPTIVE = ("adagrad", "adam", "yogi", "amsgrad", "fedadagrad", "fedadam", "fedyogi", "fedamsgrad")
_CORRECTED = ("adam", "yogi", "amsgrad", "fedadam", "fedyogi", "fedamsgrad")
_MAXIMUM = ("amsgrad", "fedamsgrad")
_SECOND = {
    "adam": "fedspec.client.adam.general_adam",
    "yogi": "fedspec.client.yogi.general_yogi",
    "fedadam": "fedspec.server.adam.general_adam",
    "fedyogi": "fedspec.server.yogi.general_yogi",
}
_STEP = ("adam", "fedadam", "fedyogi")
_MOMENTS = {"bias_correction": "moments"}
_IN_STEP = {"bias_correction": "step"}
_OUTSIDE = {"epsilon": "outside"}
_INSIDE = {"epsilon": "inside"}

MUTANTS = (
    Mutant(
        id="root-missing",
        words="the root is missing",
        algorithms=_ADAPTIVE,
        rule=_P + "root",
        old="return sqrt(v) + eps",
        new="return v + eps",
        options=_OUTSIDE,
    ),
    Mutant(
        id="root-of-squared-epsilon",
        words="eps squared and inside the root: sqrt(v + eps^2)",
        algorithms=_ADAPTIVE,
        rule=_P + "root",
        old="return sqrt(v) + eps",
        new="return sqrt(v + eps * eps)",
        options=_OUTSIDE,
    ),
    Mutant(
        id="root-floor",
        words="eps is the least denominator: max(sqrt(v), eps)",
        algorithms=_ADAPTIVE,
        rule=_P + "root",
        old="return sqrt(v) + eps",
        new="return maximum(sqrt(v), eps)",
        options=_OUTSIDE,
    ),
    Mutant(
        id="root-epsilon-twice",
        words="eps inside the root and outside",
        algorithms=_ADAPTIVE,
        rule=_P + "root",
        old="else sqrt(v + eps)",
        new="else sqrt(v + eps) + eps",
        options=_INSIDE,
    ),
    Mutant(
        id="correction-multiplies",
        words="the moments are multiplied by 1 - beta^t",
        algorithms=_CORRECTED,
        rule=_P + "corrected",
        old="moment / (1 - beta**t)",
        new="moment * (1 - beta**t)",
        options=_MOMENTS,
    ),
    Mutant(
        id="correction-constant",
        words="the correction stays that of the first step",
        algorithms=_CORRECTED,
        rule=_P + "corrected",
        old="beta**t",
        new="beta",
        options=_MOMENTS,
    ),
    Mutant(
        id="maximum-corrected-twice",
        words="the second moment is corrected before the maximum and after",
        algorithms=_MAXIMUM,
        rule=_P + "around",
        old="(correction, BiasCorrection.NONE)",
        new="(correction, correction)",
        options=_MOMENTS,
    ),
    Mutant(
        id="maximum-uncorrected",
        words="the second moment is not corrected, the first is",
        algorithms=_MAXIMUM,
        rule=_P + "around",
        old="(correction, BiasCorrection.NONE)",
        new="(BiasCorrection.NONE, BiasCorrection.NONE)",
        options=_MOMENTS,
    ),
    *(
        Mutant(
            id=f"{name}-correction-root",
            words="v is divided by the root of 1 - beta2^t",
            algorithms=(name,),
            rule=rule,
            old="v_hat = corrected(v, beta2, t, bias_correction)",
            new="v_hat = v / sqrt(1 - beta2**t)",
            options=_MOMENTS,
        )
        for name, rule in _SECOND.items()
    ),
    Mutant(
        id="rate-no-root",
        words="the correction of the rate lacks its root",
        algorithms=_STEP,
        rule=_P + "rate",
        old="sqrt(1 - beta2**t)",
        new="(1 - beta2**t)",
        options=_IN_STEP,
    ),
    Mutant(
        id="rate-first-moment-only",
        words="the rate is corrected for the first moment only",
        algorithms=_STEP,
        rule=_P + "rate",
        old="sqrt(1 - beta2**t) /",
        new="1 /",
        options=_IN_STEP,
    ),
    Mutant(
        id="rate-betas-swapped",
        words="beta1 and beta2 change places in the correction of the rate",
        algorithms=_STEP,
        rule=_P + "rate",
        old="sqrt(1 - beta2**t) / (1 - beta1**t)",
        new="sqrt(1 - beta1**t) / (1 - beta2**t)",
        options=_IN_STEP,
    ),
)
