"""Systematic mutants of server rules."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_S = "fedspec.server."
_FIRST = "beta1 * state.m + (1 - beta1) * delta"
_RULES = {
    "fedadagrad": f"{_S}adagrad.general_adagrad",
    "fedadam": f"{_S}adam.general_adam",
    "fedyogi": f"{_S}yogi.general_yogi",
    "fedamsgrad": f"{_S}amsgrad.general_amsgrad",
    "fedams": f"{_S}amsgrad.ams",
}
_FEDOPT = ("fedadagrad", "fedadam", "fedyogi")
_AVERAGING = ("fedavg", "fedprox")
_HEAVY = {"momentum": "heavy-ball"}
_NESTEROV = {"momentum": "nesterov"}

_average = partial(Mutant, algorithms=_AVERAGING, rule=f"{_S}average.average", old="x + eta * delta")
_server_momentum = partial(Mutant, algorithms=("fedavgm",), rule=f"{_S}momentum.server_momentum")
_fedadam = partial(Mutant, algorithms=("fedadam",), rule=_RULES["fedadam"])
_fedyogi = partial(Mutant, algorithms=("fedyogi",), rule=_RULES["fedyogi"])

MUTANTS = (
    _average(id="fedavg-subtracts", words="the change is subtracted", new="x - eta * delta"),
    _average(id="fedavg-rate-twice", words="the server rate is applied twice", new="x + eta * eta * delta"),
    _average(id="fedavg-forgets-model", words="the change replaces the model", new="0 * x + eta * delta"),
    _average(
        id="fedavg-weight-decay", words="server weight decay that nobody asked for", new="x + eta * (delta - x / 128)"
    ),
    _average(
        id="fedavg-single-precision",
        words="the model is kept in single precision",
        new="(x + eta * delta).astype('float32').astype(x.dtype)",
    ),
    _server_momentum(
        id="fedavgm-no-decay", words="the buffer is a plain sum", old="beta * state.v + delta", new="state.v + delta"
    ),
    _server_momentum(
        id="fedavgm-sign",
        words="the old buffer is subtracted",
        old="beta * state.v + delta",
        new="delta - beta * state.v",
    ),
    _server_momentum(
        id="fedavgm-decays-change",
        words="the decay takes the new change too",
        old="beta * state.v + delta",
        new="beta * (state.v + delta)",
    ),
    _server_momentum(
        id="fedavgm-stale",
        words="the step uses the buffer of the round before",
        old="step = v if",
        new="step = state.v if",
        options=_HEAVY,
    ),
    _server_momentum(
        id="fedavgm-unused",
        words="the buffer is computed and not used",
        old="step = v if",
        new="step = delta if",
        options=_HEAVY,
    ),
    _server_momentum(
        id="fedavgm-undecayed",
        words="the look-ahead takes the whole buffer",
        old="delta + beta * v",
        new="delta + v",
        options=_NESTEROV,
    ),
    *(
        mutant
        for a, rule in _RULES.items()
        for mutant in (
            Mutant(
                id=a + "-m-sum",
                words="the first moment is a sum: m = beta1 m + Delta",
                algorithms=(a,),
                rule=rule,
                old=_FIRST,
                new="beta1 * state.m + delta",
            ),
            Mutant(
                id=a + "-m-exchanged",
                words="beta1 and 1 - beta1 are exchanged",
                algorithms=(a,),
                rule=rule,
                old=_FIRST,
                new="(1 - beta1) * state.m + beta1 * delta",
            ),
        )
    ),
    *(
        Mutant(
            id=f"{a}-plain-first-round",
            words="the first round is plain FedAvg",
            algorithms=(a,),
            rule=_RULES[a],
            old="x = state.x + ",
            new="x = state.x + eta * delta if t == 1 else state.x + ",
        )
        for a in _FEDOPT
    ),
    Mutant(
        id="fedopt-v0-ignored",
        words="v starts at zero whatever v_0 is",
        algorithms=_FEDOPT,
        rule=f"{_S}adagrad.init",
        old="constant(v0, x)",
        new="constant(0 * v0, x)",
    ),
    Mutant(
        id="fedadagrad-forgets",
        words="the accumulator is cleared in every round",
        algorithms=("fedadagrad",),
        rule=_RULES["fedadagrad"],
        old="v = state.v + ",
        new="v = 0 * state.v + ",
    ),
    Mutant(
        id="fedadagrad-no-square",
        words="the change is not squared",
        algorithms=("fedadagrad",),
        rule=_RULES["fedadagrad"],
        old="(delta if second_moment is SecondMoment.PSEUDO_GRADIENT else m) ** 2",
        new="abs(delta if second_moment is SecondMoment.PSEUDO_GRADIENT else m)",
    ),
    _fedadam(
        id="fedadam-v-exchanged",
        words="beta2 and 1 - beta2 are exchanged",
        old="beta2 * state.v + (1 - beta2) *",
        new="(1 - beta2) * state.v + beta2 *",
    ),
    _fedadam(
        id="fedadam-betas-swapped",
        words="beta1 and beta2 change places",
        old=f"{_FIRST}\n    v = beta2 * state.v + (1 - beta2)",
        new="beta2 * state.m + (1 - beta2) * delta\n    v = beta1 * state.v + (1 - beta1)",
    ),
    _fedadam(
        id="fedadam-momentum-unused",
        words="the step goes along Delta instead of m",
        old="* m_hat / root",
        new="* delta / root",
    ),
    _fedyogi(
        id="fedyogi-v-exchanged",
        words="beta2 stands where 1 - beta2 should",
        old="(1 - beta2) * square",
        new="beta2 * square",
    ),
    _fedyogi(
        id="fedyogi-grows",
        words="v only grows",
        old="state.v - (1 - beta2) * square * sign(state.v - square)",
        new="state.v + (1 - beta2) * square",
    ),
    _fedyogi(
        id="fedyogi-tie-grows",
        words="v grows where it equals Delta^2: the sign of 0 is taken as -1",
        old="sign(state.v - square)",
        new="sign(2 * sign(state.v - square) - 1)",
    ),
    _fedyogi(
        id="fedyogi-compares-unsquared",
        words="the sign compares v with Delta",
        old="sign(state.v - square)",
        new="sign(state.v - delta)",
    ),
    *(
        mutant
        for a in ("fedamsgrad", "fedams")
        for mutant in (
            Mutant(
                id=a + "-no-square",
                words="the second moment averages |Delta|",
                algorithms=(a,),
                rule=_RULES[a],
                old="delta**2",
                new="abs(delta)",
            ),
            Mutant(
                id=a + "-maximum-in-v",
                words="v continues from its maximum",
                algorithms=(a,),
                rule=_RULES[a],
                old="beta2 * state.v +",
                new="beta2 * state.v_hat +",
            ),
        )
    ),
    Mutant(
        id="fedamsgrad-average",
        words="v_hat averages instead of taking the larger one",
        algorithms=("fedamsgrad",),
        rule=_RULES["fedamsgrad"],
        old="maximum(state.v_hat, corrected(v, beta2, t, before))",
        new="(state.v_hat + corrected(v, beta2, t, before)) / 2",
    ),
    Mutant(
        id="fedams-average",
        words="v_hat averages instead of taking the larger one",
        algorithms=("fedams",),
        rule=_RULES["fedams"],
        old="maximum(state.v_hat, v)",
        new="(state.v_hat + v) / 2",
    ),
    Mutant(
        id="fedamsgrad-stale",
        words="the step uses the maximum of the round before",
        algorithms=("fedamsgrad",),
        rule=_RULES["fedamsgrad"],
        old="corrected(v_hat, beta2,",
        new="corrected(state.v_hat, beta2,",
    ),
    Mutant(
        id="fedams-epsilon-added",
        words="eps is added to the maximum and kept",
        algorithms=("fedams",),
        rule=_RULES["fedams"],
        old="v_hat = maximum(v_hat, eps)",
        new="v_hat = v_hat + eps",
        options={"option": "1"},
    ),
    Mutant(
        id="fedams-no-root",
        words="the root is missing",
        algorithms=("fedams",),
        rule=_RULES["fedams"],
        old="m / sqrt(v_hat)\n",
        new="m / v_hat\n",
        options={"option": "1"},
    ),
)
