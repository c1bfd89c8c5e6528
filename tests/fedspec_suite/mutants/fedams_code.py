"""Mutants of FedAMS as its authors run it."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_RULE = "fedspec.server.amsgrad.corrected_ams"

MUTANTS = (
    Mutant(
        id="fedams-code-no-start",
        words="the maximum starts at zero, whatever v_hat_0 is",
        algorithms=("fedams-code",),
        rule="fedspec.algorithms.fedams_code.init",
        old="constant(h.v_hat0, x)",
        new="constant(0 * h.v_hat0, x)",
    ),
    Mutant(
        id="fedams-code-start-in-v",
        words="the second moment starts at v_hat_0 too",
        algorithms=("fedams-code",),
        rule="fedspec.algorithms.fedams_code.init",
        old="v_hat=constant(h.v_hat0, x)",
        new="v=constant(h.v_hat0, x), v_hat=constant(h.v_hat0, x)",
    ),
    *(
        Mutant(id=f"fedams-code-{slug}", words=words, algorithms=("fedams-code",), rule=_RULE, old=old, new=new)
        for slug, words, old, new in (
            (
                "maximum-corrected",
                "the maximum is taken of corrected moments and not corrected again",
                "v_hat = maximum(state.v_hat, v)\n    v_max = v_hat / (1 - beta2**t)",
                "v_hat = maximum(state.v_hat, v / (1 - beta2**t))\n    v_max = v_hat",
            ),
            ("uncorrected", "only the first moment is corrected", "v_max = v_hat / (1 - beta2**t)", "v_max = v_hat"),
            ("late", "bias-correction exponent t+1", "t = state.t + 1", "t = state.t + 2"),
            ("inside", "eps inside the root", "* m_hat / (sqrt(v_max) + eps)", "* m_hat / sqrt(v_max + eps)"),
            ("no-max", "the maximum is never taken", "maximum(state.v_hat, v)", "v"),
        )
    ),
)
