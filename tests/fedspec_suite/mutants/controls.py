"""Mutants of the algorithms whose clients keep control variates or duals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fedspec_suite.mutants.mutant import Mutant

_ALGORITHMS = "fedspec.algorithms."
_STEPS = "fedspec.client.controlled."
_KEPT = "fedspec.mixing.control_variates."
_DUALS = "fedspec.mixing.duals."

_OPTION_I = {"control": "gradient-at-x"}
_MEAN_STEPS = {"divisor": "mean-steps"}

Edit = tuple[str, str, str, str, str] | tuple[str, str, str, str, str, Mapping[str, str]]
"""Slug, words, rule, old, new, and the options under which it is made."""


def edits_of(algorithm: str, edits: tuple[Edit, ...], seen: Mapping[str, str] | None = None) -> Iterator[Mutant]:
    for slug, words, rule, old, new, *options in edits:
        under = options[0] if options else {}
        yield Mutant(
            id=f"{algorithm}-{slug}",
            words=words,
            algorithms=(algorithm,),
            rule=rule,
            old=old,
            new=new,
            options=under,
            seen=(seen or {}).get(slug, ""),
        )


_SCAFFOLD: tuple[Edit, ...] = (
    ("sign", "the correction has the wrong sign", f"{_STEPS}corrected_sgd", "* (g - c_i + c)", "* (g + c_i - c)"),
    (
        "own-only",
        "the server's control variate is not added",
        f"{_STEPS}corrected_sgd",
        "* (g - c_i + c)",
        "* (g - c_i)",
    ),
    (
        "detached",
        "the correction is made on a copy of the gradient",
        f"{_STEPS}corrected_sgd",
        "* (g - c_i + c)",
        "* g",
    ),
    (
        "correction-rate",
        "the correction is not multiplied by the client rate",
        f"{_STEPS}corrected_sgd",
        "eta_l * (g - c_i + c)",
        "eta_l * g + c_i - c",
    ),
    ("update-sign", "c_i moves the wrong way", f"{_KEPT}client_control", "c_i - c - delta /", "c_i - c + delta /"),
    (
        "keeps-correction",
        "c_i is the mean corrected gradient",
        f"{_KEPT}client_control",
        "c_i - c - delta /",
        "-delta /",
    ),
    ("forgets-c", "c is left out of c_i", f"{_KEPT}client_control", "c_i - c - delta /", "c_i - delta /"),
    (
        "epochs",
        "the change is divided by the number of epochs, one, instead of eta_l tau_i",
        f"{_KEPT}client_control",
        "delta / (eta_l * steps)",
        "delta",
    ),
    (
        "miscounts",
        "the local steps are miscounted by one",
        f"{_KEPT}client_control",
        "(eta_l * steps)",
        "(eta_l * (steps + 1))",
    ),
    (
        "option-1-corrected",
        "option I keeps the gradient with its correction",
        f"{_KEPT}client_control",
        "else g",
        "else g - c_i + c",
        _OPTION_I,
    ),
    (
        "option-1-late",
        "option I takes the gradient where the local steps ended",
        f"{_ALGORITHMS}scaffold.step",
        "gradient(0, x)",
        "gradient(0, y)",
        _OPTION_I,
    ),
    (
        "participants",
        "c is updated with the mean over the participants instead of over all clients",
        f"{_KEPT}server_control",
        "p @ changes",
        "p @ changes / sum(p)",
    ),
    ("c-forgets", "c is the mean change of the last round", f"{_KEPT}server_control", "c + change", "change"),
    ("c-sign", "c moves the wrong way", f"{_KEPT}server_control", "c + change", "c - change"),
    (
        "never-stored",
        "c_i is computed and not stored",
        f"{_ALGORITHMS}scaffold.step",
        "put(c_i, S, kept)",
        "c_i",
    ),
    (
        "shared",
        "all clients share one control variate, the last that was computed",
        f"{_ALGORITHMS}scaffold.step",
        "put(c_i, S, kept)",
        "0 * c_i + kept[-1]",
    ),
    (
        "sent-whole",
        "clients send c_i instead of its change",
        f"{_ALGORITHMS}scaffold.step",
        "kept - c_i[S]",
        "kept",
    ),
    ("starts-at-model", "c starts as the model", f"{_ALGORITHMS}scaffold.init", "c=zeros(x)", "c=x"),
)

_FEDDYN: tuple[Edit, ...] = (
    ("linear-sign", "the linear term has the wrong sign", f"{_STEPS}dynamic_sgd", "* (g - lam_i", "* (g + lam_i"),
    ("no-linear", "the linear term is missing", f"{_STEPS}dynamic_sgd", "* (g - lam_i", "* (g"),
    ("no-pull", "the pull is towards the moving model", f"{_STEPS}dynamic_sgd", "x - anchor", "x - x"),
    ("pull-sign", "the pull pushes away from the anchor", f"{_STEPS}dynamic_sgd", "x - anchor", "anchor - x"),
    ("dual-sign", "lam_i moves the wrong way", f"{_DUALS}client_dual", "lam_i - mu *", "lam_i + mu *"),
    ("dual-forgets", "lam_i holds the last round only", f"{_DUALS}client_dual", "lam_i - mu *", "-mu *"),
    ("dual-unscaled", "mu is left out of lam_i", f"{_DUALS}client_dual", "mu * delta", "delta"),
    ("h-participants", "h is averaged over the participants", f"{_DUALS}server_dual", "/ clients", "/ len(deltas)"),
    ("h-sign", "h moves the wrong way", f"{_DUALS}server_dual", "h - mu *", "h + mu *"),
    ("h-forgets", "h holds the last round only", f"{_DUALS}server_dual", "h - mu *", "-mu *"),
    (
        "step-sign",
        "the dual variable moves the mean the wrong way",
        f"{_DUALS}dynamic_average",
        "len(Y) - h",
        "len(Y) + h",
    ),
    ("step-mean", "the dual variable is left out of the step", f"{_DUALS}dynamic_average", "len(Y) - h / mu", "len(Y)"),
    ("step-unscaled", "h is not divided by mu", f"{_DUALS}dynamic_average", "len(Y) - h / mu", "len(Y) - h"),
    (
        "h-stale",
        "the step uses the dual variable of the round before",
        f"{_ALGORITHMS}feddyn.step",
        "dynamic_average(y, dual",
        "dynamic_average(y, state.h",
    ),
    (
        "never-stored",
        "lam_i is computed and not stored",
        f"{_ALGORITHMS}feddyn.step",
        "lam_i = put(lam_i, S, kept)",
        "kept = kept",
    ),
)

_VRL: tuple[Edit, ...] = (
    ("sign", "what is subtracted is added", f"{_STEPS}drift_free_sgd", "* (g - v_i)", "* (g + v_i)"),
    ("detached", "nothing is subtracted", f"{_STEPS}drift_free_sgd", "* (g - v_i)", "* g"),
    ("twice", "it is subtracted twice", f"{_STEPS}drift_free_sgd", "* (g - v_i)", "* (g - 2 * v_i)"),
    ("drift-sign", "the drift is taken away from v_i", f"{_KEPT}drift_controls", "v + (x", "v - (x"),
    ("forgets", "v_i holds the drift of the last round only", f"{_KEPT}drift_controls", "v + (x", "(x"),
    ("rate-lost", "the drift is not divided by the client rate", f"{_KEPT}drift_controls", "eta_l * tau", "tau"),
    (
        "sum-of-steps",
        "the drift is divided by all steps together",
        f"{_KEPT}drift_controls",
        "sum(tau) / len(steps)",
        "sum(tau)",
        _MEAN_STEPS,
    ),
    ("starts-at-model", "v_i starts as the model", f"{_ALGORITHMS}vrl_sgd.init", "[zeros(x)]", "[x]"),
    (
        "from-old-model",
        "the drift is measured from the model that the round began with",
        f"{_ALGORITHMS}vrl_sgd.step",
        "drift_controls(v_i, x_i, x",
        "drift_controls(v_i, x_i, state.x",
    ),
)

MUTANTS = (
    *edits_of(
        "scaffold",
        _SCAFFOLD,
        {
            "sign": "discussed for fedbiomed (thread 734)",
            "epochs": "discussed for plato (threads 382 and 386)",
            "sent-whole": "discussed for plato (threads 382 and 386)",
            "miscounts": "discussed for PFLlib (thread 160)",
            "participants": "discussed for NIID-Bench (thread 12)",
            "starts-at-model": "discussed for NIID-Bench (thread 8)",
        },
    ),
    *edits_of("feddyn", _FEDDYN),
    *edits_of("vrl-sgd", _VRL),
)
