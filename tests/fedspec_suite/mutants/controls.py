"""Mutants of the algorithms whose clients keep control variates or duals."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_ALGORITHMS = "fedspec.algorithms."
_STEPS = "fedspec.client.controlled."
_KEPT = "fedspec.mixing.control_variates."
_DUALS = "fedspec.mixing.duals."

_OPTION_I = {"control": "gradient-at-x"}
_MEAN_STEPS = {"divisor": "mean-steps"}


_scaffold = partial(Mutant, algorithms=("scaffold",))

_SCAFFOLD = (
    _scaffold(
        id="scaffold-sign",
        words="the correction has the wrong sign",
        rule=_STEPS + "corrected_sgd",
        old="* (g - c_i + c)",
        new="* (g + c_i - c)",
        seen="discussed for fedbiomed (thread 734)",
    ),
    _scaffold(
        id="scaffold-own-only",
        words="the server's control variate is not added",
        rule=_STEPS + "corrected_sgd",
        old="* (g - c_i + c)",
        new="* (g - c_i)",
    ),
    _scaffold(
        id="scaffold-detached",
        words="the correction is made on a copy of the gradient",
        rule=_STEPS + "corrected_sgd",
        old="* (g - c_i + c)",
        new="* g",
    ),
    _scaffold(
        id="scaffold-correction-rate",
        words="the correction is not multiplied by the client rate",
        rule=_STEPS + "corrected_sgd",
        old="eta_l * (g - c_i + c)",
        new="eta_l * g + c_i - c",
    ),
    _scaffold(
        id="scaffold-update-sign",
        words="c_i moves the wrong way",
        rule=_KEPT + "client_control",
        old="c_i - c - delta /",
        new="c_i - c + delta /",
    ),
    _scaffold(
        id="scaffold-keeps-correction",
        words="c_i is the mean corrected gradient",
        rule=_KEPT + "client_control",
        old="c_i - c - delta /",
        new="-delta /",
    ),
    _scaffold(
        id="scaffold-forgets-c",
        words="c is left out of c_i",
        rule=_KEPT + "client_control",
        old="c_i - c - delta /",
        new="c_i - delta /",
    ),
    _scaffold(
        id="scaffold-epochs",
        words="the change is divided by the number of epochs, one, instead of eta_l tau_i",
        rule=_KEPT + "client_control",
        old="delta / (eta_l * steps)",
        new="delta",
        seen="discussed for plato (threads 382 and 386)",
    ),
    _scaffold(
        id="scaffold-miscounts",
        words="the local steps are miscounted by one",
        rule=_KEPT + "client_control",
        old="(eta_l * steps)",
        new="(eta_l * (steps + 1))",
        seen="discussed for PFLlib (thread 160)",
    ),
    _scaffold(
        id="scaffold-option-1-corrected",
        words="option I keeps the gradient with its correction",
        rule=_KEPT + "client_control",
        old="else g",
        new="else g - c_i + c",
        options=_OPTION_I,
    ),
    _scaffold(
        id="scaffold-option-1-late",
        words="option I takes the gradient where the local steps ended",
        rule=_ALGORITHMS + "scaffold.step",
        old="gradient(0, x)",
        new="gradient(0, y)",
        options=_OPTION_I,
    ),
    _scaffold(
        id="scaffold-participants",
        words="c is updated with the mean over the participants instead of over all clients",
        rule=_KEPT + "server_control",
        old="p @ changes",
        new="p @ changes / sum(p)",
        seen="discussed for NIID-Bench (thread 12)",
    ),
    _scaffold(
        id="scaffold-c-forgets",
        words="c is the mean change of the last round",
        rule=_KEPT + "server_control",
        old="c + change",
        new="change",
    ),
    _scaffold(
        id="scaffold-c-sign",
        words="c moves the wrong way",
        rule=_KEPT + "server_control",
        old="c + change",
        new="c - change",
    ),
    _scaffold(
        id="scaffold-never-stored",
        words="c_i is computed and not stored",
        rule=_ALGORITHMS + "scaffold.step",
        old="put(c_i, S, kept)",
        new="c_i",
    ),
    _scaffold(
        id="scaffold-shared",
        words="all clients share one control variate, the last that was computed",
        rule=_ALGORITHMS + "scaffold.step",
        old="put(c_i, S, kept)",
        new="0 * c_i + kept[-1]",
    ),
    _scaffold(
        id="scaffold-sent-whole",
        words="clients send c_i instead of its change",
        rule=_ALGORITHMS + "scaffold.step",
        old="kept - c_i[S]",
        new="kept",
        seen="discussed for plato (threads 382 and 386)",
    ),
    _scaffold(
        id="scaffold-starts-at-model",
        words="c starts as the model",
        rule=_ALGORITHMS + "scaffold.init",
        old="c=zeros(x)",
        new="c=x",
        seen="discussed for NIID-Bench (thread 8)",
    ),
)

_feddyn = partial(Mutant, algorithms=("feddyn",))

_FEDDYN = (
    _feddyn(
        id="feddyn-linear-sign",
        words="the linear term has the wrong sign",
        rule=_STEPS + "dynamic_sgd",
        old="* (g - lam_i",
        new="* (g + lam_i",
    ),
    _feddyn(
        id="feddyn-no-linear",
        words="the linear term is missing",
        rule=_STEPS + "dynamic_sgd",
        old="* (g - lam_i",
        new="* (g",
    ),
    _feddyn(
        id="feddyn-no-pull",
        words="the pull is towards the moving model",
        rule=_STEPS + "dynamic_sgd",
        old="x - anchor",
        new="x - x",
    ),
    _feddyn(
        id="feddyn-pull-sign",
        words="the pull pushes away from the anchor",
        rule=_STEPS + "dynamic_sgd",
        old="x - anchor",
        new="anchor - x",
    ),
    _feddyn(
        id="feddyn-dual-sign",
        words="lam_i moves the wrong way",
        rule=_DUALS + "client_dual",
        old="lam_i - mu *",
        new="lam_i + mu *",
    ),
    _feddyn(
        id="feddyn-dual-forgets",
        words="lam_i holds the last round only",
        rule=_DUALS + "client_dual",
        old="lam_i - mu *",
        new="-mu *",
    ),
    _feddyn(
        id="feddyn-dual-unscaled",
        words="mu is left out of lam_i",
        rule=_DUALS + "client_dual",
        old="mu * delta",
        new="delta",
    ),
    _feddyn(
        id="feddyn-h-participants",
        words="h is averaged over the participants",
        rule=_DUALS + "server_dual",
        old="/ clients",
        new="/ len(deltas)",
    ),
    _feddyn(
        id="feddyn-h-sign", words="h moves the wrong way", rule=_DUALS + "server_dual", old="h - mu *", new="h + mu *"
    ),
    _feddyn(
        id="feddyn-h-forgets",
        words="h holds the last round only",
        rule=_DUALS + "server_dual",
        old="h - mu *",
        new="-mu *",
    ),
    _feddyn(
        id="feddyn-step-sign",
        words="the dual variable moves the mean the wrong way",
        rule=_DUALS + "dynamic_average",
        old="len(Y) - h",
        new="len(Y) + h",
    ),
    _feddyn(
        id="feddyn-step-mean",
        words="the dual variable is left out of the step",
        rule=_DUALS + "dynamic_average",
        old="len(Y) - h / mu",
        new="len(Y)",
    ),
    _feddyn(
        id="feddyn-step-unscaled",
        words="h is not divided by mu",
        rule=_DUALS + "dynamic_average",
        old="len(Y) - h / mu",
        new="len(Y) - h",
    ),
    _feddyn(
        id="feddyn-h-stale",
        words="the step uses the dual variable of the round before",
        rule=_ALGORITHMS + "feddyn.step",
        old="dynamic_average(y, dual",
        new="dynamic_average(y, state.h",
    ),
    _feddyn(
        id="feddyn-never-stored",
        words="lam_i is computed and not stored",
        rule=_ALGORITHMS + "feddyn.step",
        old="lam_i = put(lam_i, S, kept)",
        new="kept = kept",
    ),
)

_vrl_sgd = partial(Mutant, algorithms=("vrl-sgd",))

_VRL = (
    _vrl_sgd(
        id="vrl-sgd-sign",
        words="what is subtracted is added",
        rule=_STEPS + "drift_free_sgd",
        old="* (g - v_i)",
        new="* (g + v_i)",
    ),
    _vrl_sgd(
        id="vrl-sgd-detached",
        words="nothing is subtracted",
        rule=_STEPS + "drift_free_sgd",
        old="* (g - v_i)",
        new="* g",
    ),
    _vrl_sgd(
        id="vrl-sgd-twice",
        words="it is subtracted twice",
        rule=_STEPS + "drift_free_sgd",
        old="* (g - v_i)",
        new="* (g - 2 * v_i)",
    ),
    _vrl_sgd(
        id="vrl-sgd-drift-sign",
        words="the drift is taken away from v_i",
        rule=_KEPT + "drift_controls",
        old="v + (x",
        new="v - (x",
    ),
    _vrl_sgd(
        id="vrl-sgd-forgets",
        words="v_i holds the drift of the last round only",
        rule=_KEPT + "drift_controls",
        old="v + (x",
        new="(x",
    ),
    _vrl_sgd(
        id="vrl-sgd-rate-lost",
        words="the drift is not divided by the client rate",
        rule=_KEPT + "drift_controls",
        old="eta_l * tau",
        new="tau",
    ),
    _vrl_sgd(
        id="vrl-sgd-sum-of-steps",
        words="the drift is divided by all steps together",
        rule=_KEPT + "drift_controls",
        old="sum(tau) / len(steps)",
        new="sum(tau)",
        options=_MEAN_STEPS,
    ),
    _vrl_sgd(
        id="vrl-sgd-starts-at-model",
        words="v_i starts as the model",
        rule=_ALGORITHMS + "vrl_sgd.init",
        old="[zeros(x)]",
        new="[x]",
    ),
    _vrl_sgd(
        id="vrl-sgd-from-old-model",
        words="the drift is measured from the model that the round began with",
        rule=_ALGORITHMS + "vrl_sgd.step",
        old="drift_controls(v_i, x_i, x",
        new="drift_controls(v_i, x_i, state.x",
    ),
)

MUTANTS = (
    *_SCAFFOLD,
    *_FEDDYN,
    *_VRL,
)
