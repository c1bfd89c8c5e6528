"""Mutants of FedDyn, whose clients keep a dual, and of VRL-SGD, whose clients keep their drift."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_ALGORITHMS = "fedspec.algorithms."
_STEPS = "fedspec.client.controlled."
_KEPT = "fedspec.mixing.control_variates."
_DUALS = "fedspec.mixing.duals."
_MEAN_STEPS = {"divisor": "mean-steps"}

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

MUTANTS = (*_FEDDYN, *_VRL)
