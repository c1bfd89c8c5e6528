"""Mutants of FedAMS as its authors run it."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_RULE = "fedspec.server.amsgrad.corrected_ams"

_fedams_code = partial(Mutant, algorithms=("fedams-code",), rule=_RULE)

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
    _fedams_code(
        id="fedams-code-maximum-corrected",
        words="the maximum is taken of corrected moments and not corrected again",
        old="v_hat = maximum(state.v_hat, v)\n    v_max = v_hat / (1 - beta2**t)",
        new="v_hat = maximum(state.v_hat, v / (1 - beta2**t))\n    v_max = v_hat",
    ),
    _fedams_code(
        id="fedams-code-uncorrected",
        words="only the first moment is corrected",
        old="v_max = v_hat / (1 - beta2**t)",
        new="v_max = v_hat",
    ),
    _fedams_code(
        id="fedams-code-late", words="bias-correction exponent t+1", old="t = state.t + 1", new="t = state.t + 2"
    ),
    _fedams_code(
        id="fedams-code-inside",
        words="eps inside the root",
        old="* m_hat / (sqrt(v_max) + eps)",
        new="* m_hat / sqrt(v_max + eps)",
    ),
    _fedams_code(id="fedams-code-no-max", words="the maximum is never taken", old="maximum(state.v_hat, v)", new="v"),
)
