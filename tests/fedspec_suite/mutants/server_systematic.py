"""Systematic mutants of server rules."""

from __future__ import annotations

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

MUTANTS = (
    *(
        Mutant(
            id=f"fedavg-{slug}",
            words=words,
            algorithms=_AVERAGING,
            rule=f"{_S}average.average",
            old="x + eta * delta",
            new=new,
        )
        for slug, words, new in (
            ("subtracts", "the change is subtracted", "x - eta * delta"),
            ("rate-twice", "the server rate is applied twice", "x + eta * eta * delta"),
            ("forgets-model", "the change replaces the model", "0 * x + eta * delta"),
            ("weight-decay", "server weight decay that nobody asked for", "x + eta * (delta - x / 128)"),
            (
                "single-precision",
                "the model is kept in single precision",
                "(x + eta * delta).astype('float32').astype(x.dtype)",
            ),
        )
    ),
    *(
        Mutant(
            id=f"fedavgm-{slug}",
            words=words,
            algorithms=("fedavgm",),
            rule=f"{_S}momentum.server_momentum",
            old=old,
            new=new,
            options=options,
        )
        for slug, words, old, new, options in (
            ("no-decay", "the buffer is a plain sum", "beta * state.v + delta", "state.v + delta", {}),
            ("sign", "the old buffer is subtracted", "beta * state.v + delta", "delta - beta * state.v", {}),
            (
                "decays-change",
                "the decay takes the new change too",
                "beta * state.v + delta",
                "beta * (state.v + delta)",
                {},
            ),
            ("stale", "the step uses the buffer of the round before", "step = v if", "step = state.v if", _HEAVY),
            ("unused", "the buffer is computed and not used", "step = v if", "step = delta if", _HEAVY),
            ("undecayed", "the look-ahead takes the whole buffer", "delta + beta * v", "delta + v", _NESTEROV),
        )
    ),
    *(
        Mutant(id=f"{a}-{slug}", words=words, algorithms=(a,), rule=rule, old=old, new=new)
        for a, rule in _RULES.items()
        for slug, words, old, new in (
            ("m-sum", "the first moment is a sum: m = beta1 m + Delta", _FIRST, "beta1 * state.m + delta"),
            (
                "m-exchanged",
                "beta1 and 1 - beta1 are exchanged",
                _FIRST,
                "(1 - beta1) * state.m + beta1 * delta",
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
    *(
        Mutant(id=f"fedadam-{slug}", words=words, algorithms=("fedadam",), rule=_RULES["fedadam"], old=old, new=new)
        for slug, words, old, new in (
            (
                "v-exchanged",
                "beta2 and 1 - beta2 are exchanged",
                "beta2 * state.v + (1 - beta2) *",
                "(1 - beta2) * state.v + beta2 *",
            ),
            (
                "betas-swapped",
                "beta1 and beta2 change places",
                f"{_FIRST}\n    v = beta2 * state.v + (1 - beta2)",
                "beta2 * state.m + (1 - beta2) * delta\n    v = beta1 * state.v + (1 - beta1)",
            ),
            ("momentum-unused", "the step goes along Delta instead of m", "* m_hat / root", "* delta / root"),
        )
    ),
    *(
        Mutant(id=f"fedyogi-{slug}", words=words, algorithms=("fedyogi",), rule=_RULES["fedyogi"], old=old, new=new)
        for slug, words, old, new in (
            ("v-exchanged", "beta2 stands where 1 - beta2 should", "(1 - beta2) * square", "beta2 * square"),
            (
                "grows",
                "v only grows",
                "state.v - (1 - beta2) * square * sign(state.v - square)",
                "state.v + (1 - beta2) * square",
            ),
            ("compares-unsquared", "the sign compares v with Delta", "sign(state.v - square)", "sign(state.v - delta)"),
        )
    ),
    *(
        Mutant(id=f"{a}-{slug}", words=words, algorithms=(a,), rule=_RULES[a], old=old, new=new)
        for a in ("fedamsgrad", "fedams")
        for slug, words, old, new in (
            ("no-square", "the second moment averages |Delta|", "delta**2", "abs(delta)"),
            ("maximum-in-v", "v continues from its maximum", "beta2 * state.v +", "beta2 * state.v_hat +"),
        )
    ),
    *(
        Mutant(
            id=f"{a}-average",
            words="v_hat averages instead of taking the larger one",
            algorithms=(a,),
            rule=_RULES[a],
            old=f"maximum(state.v_hat, {v})",
            new=f"(state.v_hat + {v}) / 2",
        )
        for a, v in (("fedamsgrad", "corrected(v, beta2, t, before)"), ("fedams", "v"))
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
