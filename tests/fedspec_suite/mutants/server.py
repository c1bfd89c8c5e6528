"""Mutants of server rules and of aggregation."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant, Thread

_OPT = "fedspec.server."
_FEDOPT = ("fedadagrad", "fedadam", "fedyogi")

_CORRECTED = (
    ("fedadam", "fedspec.server.adam.general_adam"),
    ("fedyogi", "fedspec.server.yogi.general_yogi"),
    ("fedamsgrad", "fedspec.server.amsgrad.general_amsgrad"),
)

MUTANTS = (
    *(
        Mutant(
            id=f"{a}-step-correction-late",
            words="bias-correction exponent t+1 (in the step)",
            algorithms=(a,),
            rule=rule,
            old="rate(eta, beta1, beta2, t,",
            new="rate(eta, beta1, beta2, t + 1,",
            options={"bias_correction": "step"},
        )
        for a, rule in _CORRECTED
    ),
    *(
        Mutant(
            id=f"{a}-correction-late",
            words="bias-correction exponent t+1 (on the moments)",
            algorithms=(a,),
            rule=rule,
            old="corrected(m, beta1, t, bias_correction)\n    v_hat = corrected(v, beta2, t,",
            new="corrected(m, beta1, t + 1, bias_correction)\n    v_hat = corrected(v, beta2, t + 1,",
            options={"bias_correction": "moments"},
        )
        for a, rule in _CORRECTED
        if a != "fedamsgrad"
    ),
    Mutant(
        id="fedyogi-decays",
        words="beta2 multiplies v, so that v decays under zero input",
        algorithms=("fedyogi",),
        rule="fedspec.server.yogi.general_yogi",
        old="v = state.v - (1 - beta2)",
        new="v = beta2 * state.v - (1 - beta2)",
    ),
    Mutant(
        id="fedyogi-sign",
        words="the sign of Yogi's update is reversed",
        algorithms=("fedyogi",),
        rule="fedspec.server.yogi.general_yogi",
        old="sign(state.v - square)",
        new="sign(square - state.v)",
        seen=(
            Thread(
                link="https://github.com/flwrlabs/flower/pull/885",
                says="The change turns the sign with which (1 - beta2) Delta^2 sign(v - Delta^2) enters v.",
                read="2026-11-23",
            ),
        ),
    ),
    Mutant(
        id="fedamsgrad-no-max",
        words="the maximum is never taken",
        algorithms=("fedamsgrad",),
        rule="fedspec.server.amsgrad.general_amsgrad",
        old="v_hat = maximum(state.v_hat, corrected(v, beta2, t, before))",
        new="v_hat = corrected(v, beta2, t, before)",
    ),
    Mutant(
        id="fedams-no-max",
        words="the maximum is never taken",
        algorithms=("fedams",),
        rule="fedspec.server.amsgrad.ams",
        old="v_hat = maximum(state.v_hat, v)",
        new="v_hat = v",
    ),
    Mutant(
        id="fedavgm-dampened",
        words="the buffer averages: v = beta v + (1 - beta) Delta",
        algorithms=("fedavgm",),
        rule="fedspec.server.momentum.server_momentum",
        old="v = beta * state.v + delta",
        new="v = beta * state.v + (1 - beta) * delta",
        seen=(
            Thread(
                link="https://github.com/APPFL/APPFL/issues/129",
                says="The code averages, v = beta v + (1 - beta) dw, where the paper sums, v = beta v + dw.",
                read="2026-11-23",
            ),
        ),
    ),
    Mutant(
        id="fedavgm-rate-in-buffer",
        words="the rate enters the buffer and the step",
        algorithms=("fedavgm",),
        rule="fedspec.server.momentum.server_momentum",
        old="v = beta * state.v + delta",
        new="v = beta * state.v + eta * delta",
    ),
    Mutant(
        id="nova-cancelled",
        words="tau_eff cancels: the normalised changes are summed with weights p_i ||a_i||_1 renormalised",
        algorithms=("fednova",),
        rule="fedspec.mixing.nova.general_weights",
        old="return p if choice is NovaWeights.NOVA else",
        new="return p * a_norms / (p @ a_norms) if choice is NovaWeights.NOVA else",
    ),
    Mutant(
        id="nova-steps-normaliser",
        words="changes are normalised by tau_i instead of ||a_i||_1",
        algorithms=("fednova",),
        rule="fedspec.algorithms.fednova.server",
        old="a = a_norms(messages, x)",
        new="a = numbers(together(messages).steps, x)",
    ),
    *(
        Mutant(
            id=f"{a}-first-round-lost",
            words="the first round moves the state, not the model",
            algorithms=(a,),
            rule=f"{_OPT}{a.removeprefix('fed')}.general_{a.removeprefix('fed')}",
            old="x = state.x + ",
            new="x = state.x + (t > 1) * ",
        )
        for a in _FEDOPT
    ),
    *(
        Mutant(
            id=f"{a}-rate-twice",
            words="the server rate is applied twice",
            algorithms=(a,),
            rule=f"{_OPT}{a.removeprefix('fed')}.general_{a.removeprefix('fed')}",
            old="x = state.x + ",
            new="x = state.x + eta * ",
        )
        for a in _FEDOPT
    ),
    Mutant(
        id="fedadagrad-stale-v",
        words="the step uses the second moment of the round before",
        algorithms=("fedadagrad",),
        rule=f"{_OPT}{'fedadagrad'.removeprefix('fed')}.general_{'fedadagrad'.removeprefix('fed')}",
        old="root(v, tau",
        new="root(state.v, tau",
    ),
    Mutant(
        id="fedadam-stale-v",
        words="the step uses the second moment of the round before",
        algorithms=("fedadam",),
        rule=f"{_OPT}{'fedadam'.removeprefix('fed')}.general_{'fedadam'.removeprefix('fed')}",
        old="v_hat = corrected(v,",
        new="v_hat = corrected(state.v,",
    ),
    Mutant(
        id="fedyogi-stale-v",
        words="the step uses the second moment of the round before",
        algorithms=("fedyogi",),
        rule=f"{_OPT}{'fedyogi'.removeprefix('fed')}.general_{'fedyogi'.removeprefix('fed')}",
        old="v_hat = corrected(v,",
        new="v_hat = corrected(state.v,",
    ),
)
