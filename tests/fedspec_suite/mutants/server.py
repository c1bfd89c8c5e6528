"""Mutants of server rules and of aggregation."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_OPT = "fedspec.server."
_FEDOPT = ("fedadagrad", "fedadam", "fedyogi")

_CORRECTED = (
    ("fedadam", "fedspec.server.adam.adam"),
    ("fedyogi", "fedspec.server.yogi.yogi"),
    ("fedamsgrad", "fedspec.server.amsgrad.amsgrad"),
)

MUTANTS = (
    *(
        Mutant(
            f"{a}-step-correction-late",
            "bias-correction exponent t+1 (in the step)",
            (a,),
            rule,
            "rate(eta, beta1, beta2, t,",
            "rate(eta, beta1, beta2, t + 1,",
            {"bias_correction": "step"},
            "discussed for Flower (thread 4362)",
        )
        for a, rule in _CORRECTED
    ),
    *(
        Mutant(
            f"{a}-correction-late",
            "bias-correction exponent t+1 (on the moments)",
            (a,),
            rule,
            "corrected(m, beta1, t, bias_correction)\n    v_hat = corrected(v, beta2, t,",
            "corrected(m, beta1, t + 1, bias_correction)\n    v_hat = corrected(v, beta2, t + 1,",
            {"bias_correction": "moments"},
        )
        for a, rule in _CORRECTED
        if a != "fedamsgrad"
    ),
    Mutant(
        "fedyogi-decays",
        "beta2 multiplies v, so that v decays under zero input",
        ("fedyogi",),
        "fedspec.server.yogi.yogi",
        "v = state.v - (1 - beta2)",
        "v = beta2 * state.v - (1 - beta2)",
    ),
    Mutant(
        "fedyogi-sign",
        "the sign of Yogi's update is reversed",
        ("fedyogi",),
        "fedspec.server.yogi.yogi",
        "sign(state.v - square)",
        "sign(square - state.v)",
        seen="discussed for Flower (thread 885)",
    ),
    Mutant(
        "fedamsgrad-no-max",
        "the maximum is never taken",
        ("fedamsgrad",),
        "fedspec.server.amsgrad.amsgrad",
        "v_hat = maximum(state.v_hat, corrected(v, beta2, t, before))",
        "v_hat = corrected(v, beta2, t, before)",
    ),
    Mutant(
        "fedams-no-max",
        "the maximum is never taken",
        ("fedams",),
        "fedspec.server.amsgrad.ams",
        "v_hat = maximum(state.v_hat, v)",
        "v_hat = v",
    ),
    Mutant(
        "fedavgm-dampened",
        "the buffer averages: v = beta v + (1 - beta) Delta",
        ("fedavgm",),
        "fedspec.server.momentum.server_momentum",
        "v = beta * state.v + delta",
        "v = beta * state.v + (1 - beta) * delta",
    ),
    Mutant(
        "fedavgm-rate-in-buffer",
        "the rate enters the buffer and the step",
        ("fedavgm",),
        "fedspec.server.momentum.server_momentum",
        "v = beta * state.v + delta",
        "v = beta * state.v + eta * delta",
    ),
    Mutant(
        "nova-cancelled",
        "tau_eff cancels: the normalised changes are summed with weights p_i ||a_i||_1 renormalised",
        ("fednova",),
        "fedspec.mixing.nova.general_weights",
        "return p if choice is NovaWeights.NOVA else",
        "return p * a_norms / (p @ a_norms) if choice is NovaWeights.NOVA else",
        seen="discussed for FedNova (JYWa thread 1)",
    ),
    Mutant(
        "nova-steps-normaliser",
        "changes are normalised by tau_i instead of ||a_i||_1",
        ("fednova",),
        "fedspec.algorithms.fednova.server",
        "a = a_norms(messages, x)",
        "a = a_norms([__import__('dataclasses').replace(m, a_norm=m.steps) for m in messages], x)",
    ),
    *(
        Mutant(
            f"{a}-first-round-lost",
            "the first round only allocates the state",
            (a,),
            f"{_OPT}{a.removeprefix('fed')}.{a.removeprefix('fed')}",
            "x = state.x + ",
            "x = state.x + (t > 1) * ",
        )
        for a in _FEDOPT
    ),
    *(
        Mutant(
            f"{a}-rate-twice",
            "the server rate is applied twice",
            (a,),
            f"{_OPT}{a.removeprefix('fed')}.{a.removeprefix('fed')}",
            "x = state.x + ",
            "x = state.x + eta * ",
        )
        for a in _FEDOPT
    ),
    *(
        Mutant(
            f"{a}-stale-v",
            "the step uses the second moment of the round before",
            (a,),
            f"{_OPT}{a.removeprefix('fed')}.{a.removeprefix('fed')}",
            old,
            new,
        )
        for a, old, new in (
            ("fedadagrad", "root(v, tau", "root(state.v, tau"),
            ("fedadam", "v_hat = corrected(v,", "v_hat = corrected(state.v,"),
            ("fedyogi", "v_hat = corrected(v,", "v_hat = corrected(state.v,"),
        )
    ),
)
