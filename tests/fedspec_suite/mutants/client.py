"""Mutants of local solvers."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_C = "fedspec.client."

MUTANTS = (
    *(
        Mutant(
            f"{a}-epsilon-inside-root",
            "eps inside the root: sqrt(nu + eps)",
            (a,),
            "fedspec.client.sm3._ratio",
            "sqrt(nu) + eps",
            "sqrt(nu + eps)",
        )
        for a in ("sm3-i", "sm3-ii")
    ),
    *(
        Mutant(
            f"{a}-hidden-epsilon",
            "1e-8 inside the root",
            (a,),
            "fedspec.client.sm3._ratio",
            "g_j if dead else g_j / sqrt(n)",
            "g_j / sqrt(n + 10**-8)",
            {"zero": "zero-over-zero"},
        )
        for a in ("sm3-i", "sm3-ii")
    ),
    Mutant(
        "sm3-i-forgets",
        "accumulators are cleared at every step",
        ("sm3-i",),
        _C + "sm3.accumulate_i",
        "mu = mu + array(",
        "mu = 0 * mu + array(",
    ),
    Mutant(
        "sm3-ii-forgets",
        "accumulators are cleared at every step",
        ("sm3-ii",),
        _C + "sm3.accumulate_ii",
        "for j in range(cover.d)], g_squared) + g_squared",
        "for j in range(cover.d)], g_squared) * 0 + g_squared",
    ),
    Mutant(
        "sm3-ii-greatest",
        "the largest accumulator bounds a coordinate instead of the smallest",
        ("sm3-ii",),
        _C + "sm3.accumulate_ii",
        "least(mu[r]",
        "greatest(mu[r]",
    ),
    Mutant(
        "sm3-i-greatest",
        "the largest accumulator bounds a coordinate instead of the smallest",
        ("sm3-i",),
        _C + "sm3.accumulate_i",
        "least(mu[r]",
        "greatest(mu[r]",
    ),
    Mutant(
        "sm3-ii-least",
        "a set takes the smallest bound of its coordinates instead of the largest",
        ("sm3-ii",),
        _C + "sm3.accumulate_ii",
        "greatest(nu[j]",
        "least(nu[j]",
    ),
    Mutant(
        "yogi-first-moment",
        "m_0 = v_0",
        ("yogi",),
        _C + "yogi.begin",
        "m=zeros(x), v=constant(v0, x)",
        "m=constant(v0, x), v=constant(v0, x)",
    ),
    Mutant(
        "yogi-decays",
        "beta2 multiplies v, so that v decays under zero gradients",
        ("yogi",),
        _C + "yogi.yogi",
        "v = state.v - (1 - beta2)",
        "v = beta2 * state.v - (1 - beta2)",
    ),
    Mutant(
        "amsgrad-no-max",
        "the maximum is never taken",
        ("amsgrad",),
        _C + "amsgrad.amsgrad",
        "v_hat = maximum(state.v_hat, corrected(v, beta2, t, before))",
        "v_hat = corrected(v, beta2, t, before)",
    ),
    *(
        Mutant(
            f"{a}-correction-late",
            "bias-correction exponent t+1",
            (a,),
            f"{_C}{a}.{a}",
            "corrected(m, beta1, t, bias_correction)\n    v_hat = corrected(v, beta2, t,",
            "corrected(m, beta1, t + 1, bias_correction)\n    v_hat = corrected(v, beta2, t + 1,",
            {"bias_correction": "moments"},
        )
        for a in ("adam", "yogi")
    ),
    Mutant(
        "adam-first-moment-only",
        "only the first moment is corrected",
        ("adam",),
        _C + "adam.adam",
        "v_hat = corrected(v, beta2, t, bias_correction)",
        "v_hat = v",
    ),
    Mutant(
        "adagrad-stale",
        "the step uses the accumulator of the step before",
        ("adagrad",),
        _C + "adagrad.adagrad",
        "root(v, eps",
        "root(state.v, eps",
    ),
    Mutant(
        "proximal-anchor-moves",
        "the anchor is the moving model: no pull",
        ("proximal-sgd", "fedprox"),
        _C + "proximal.proximal_sgd",
        "mu * (x - anchor)",
        "mu * (x - x)",
        seen="discussed for Flower (thread 1654), FL-bench (165), OpenFL (1634)",
    ),
    Mutant(
        "proximal-sign",
        "the pull pushes away from the anchor",
        ("proximal-sgd", "fedprox"),
        _C + "proximal.proximal_sgd",
        "mu * (x - anchor)",
        "mu * (anchor - x)",
    ),
    Mutant(
        "momentum-stale",
        "the step uses the old buffer",
        ("momentum",),
        _C + "momentum.momentum",
        "state.x - eta_l * u",
        "state.x - eta_l * state.u",
    ),
    Mutant(
        "nesterov-old-buffer",
        "the look-ahead uses the old buffer",
        ("nesterov",),
        _C + "momentum.nesterov",
        "(g + rho * u)",
        "(g + rho * state.u)",
    ),
    Mutant(
        "decayed-late",
        "the decay starts one step late",
        ("decayed-sgd",),
        _C + "sgd.decayed_sgd",
        "gamma**k",
        "gamma ** max(k - 1, 0)",
    ),
)
