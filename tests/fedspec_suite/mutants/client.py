"""Mutants of local solvers."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant, Thread

_C = "fedspec.client."

MUTANTS = (
    *(
        Mutant(
            id=f"{a}-epsilon-inside-root",
            words="eps inside the root: sqrt(nu + eps)",
            algorithms=(a,),
            rule="fedspec.client.sm3._ratio",
            old="sqrt(nu) + eps",
            new="sqrt(nu + eps)",
        )
        for a in ("sm3-i", "sm3-ii")
    ),
    *(
        Mutant(
            id=f"{a}-hidden-epsilon",
            words="1e-8 inside the root",
            algorithms=(a,),
            rule="fedspec.client.sm3._ratio",
            old="ratio(g, sqrt(nu))",
            new="g / sqrt(nu + 10**-8)",
            options={"zero": "zero-over-zero"},
        )
        for a in ("sm3-i", "sm3-ii")
    ),
    Mutant(
        id="sm3-i-forgets",
        words="accumulators are cleared at every step",
        algorithms=("sm3-i",),
        rule=_C + "sm3.accumulate_i",
        old="mu = mu + cover",
        new="mu = 0 * mu + cover",
    ),
    Mutant(
        id="sm3-ii-forgets",
        words="accumulators are cleared at every step",
        algorithms=("sm3-ii",),
        rule=_C + "sm3.accumulate_ii",
        old="cover.least(mu) + g_squared",
        new="cover.least(mu) * 0 + g_squared",
    ),
    Mutant(
        id="sm3-ii-greatest",
        words="the largest accumulator bounds a coordinate instead of the smallest",
        algorithms=("sm3-ii",),
        rule=_C + "sm3.accumulate_ii",
        old="cover.least(mu)",
        new="-cover.least(-mu)",
    ),
    Mutant(
        id="sm3-i-greatest",
        words="the largest accumulator bounds a coordinate instead of the smallest",
        algorithms=("sm3-i",),
        rule=_C + "sm3.accumulate_i",
        old="cover.least(mu)",
        new="-cover.least(-mu)",
    ),
    Mutant(
        id="sm3-ii-least",
        words="a set takes the smallest bound of its coordinates instead of the largest",
        algorithms=("sm3-ii",),
        rule=_C + "sm3.accumulate_ii",
        old="cover.greatest(nu)",
        new="-cover.greatest(-nu)",
    ),
    Mutant(
        id="yogi-first-moment",
        words="m_0 = v_0",
        algorithms=("yogi",),
        rule=_C + "yogi.begin",
        old="m=zeros(x), v=constant(v0, x)",
        new="m=constant(v0, x), v=constant(v0, x)",
        seen=(
            Thread(
                link="https://github.com/jettify/pytorch-optimizer/issues/77",
                says="The first moment should start at zero, not at initial_accumulator as the second does.",
                read="2026-11-23",
            ),
        ),
    ),
    Mutant(
        id="yogi-decays",
        words="beta2 multiplies v, so that v decays under zero gradients",
        algorithms=("yogi",),
        rule=_C + "yogi.general_yogi",
        old="v = state.v - (1 - beta2)",
        new="v = beta2 * state.v - (1 - beta2)",
    ),
    Mutant(
        id="amsgrad-no-max",
        words="the maximum is never taken",
        algorithms=("amsgrad",),
        rule=_C + "amsgrad.general_amsgrad",
        old="v_hat = maximum(state.v_hat, corrected(v, beta2, t, before))",
        new="v_hat = corrected(v, beta2, t, before)",
    ),
    *(
        Mutant(
            id=f"{a}-correction-late",
            words="bias-correction exponent t+1",
            algorithms=(a,),
            rule=f"{_C}{a}.general_{a}",
            old="corrected(m, beta1, t, bias_correction)\n    v_hat = corrected(v, beta2, t,",
            new="corrected(m, beta1, t + 1, bias_correction)\n    v_hat = corrected(v, beta2, t + 1,",
            options={"bias_correction": "moments"},
        )
        for a in ("adam", "yogi")
    ),
    Mutant(
        id="adam-first-moment-only",
        words="only the first moment is corrected",
        algorithms=("adam",),
        rule=_C + "adam.general_adam",
        old="v_hat = corrected(v, beta2, t, bias_correction)",
        new="v_hat = v",
    ),
    Mutant(
        id="adagrad-stale",
        words="the step uses the accumulator of the step before",
        algorithms=("adagrad",),
        rule=_C + "adagrad.general_adagrad",
        old="root(v, eps",
        new="root(state.v, eps",
    ),
    Mutant(
        id="proximal-anchor-moves",
        words="the anchor is the moving model: no pull",
        algorithms=("proximal-sgd", "fedprox"),
        rule=_C + "proximal.proximal_sgd",
        old="mu * (x - anchor)",
        new="mu * (x - x)",
        seen=(
            Thread(
                link="https://github.com/flwrlabs/flower/pull/1654",
                says="The proximal term was always 0; detached copies of the parameters mend it.",
                read="2026-11-23",
            ),
            Thread(
                link="https://github.com/KarhouTam/FL-bench/issues/165",
                says="The global parameters are a shallow copy that training moves too: the difference is zero.",
                read="2026-11-23",
            ),
            Thread(
                link="https://github.com/securefederatedai/openfederatedlearning/pull/1634",
                says="Old weights set right before the step make mu times the difference to them next to zero.",
                read="2026-11-23",
            ),
        ),
    ),
    Mutant(
        id="proximal-sign",
        words="the pull pushes away from the anchor",
        algorithms=("proximal-sgd", "fedprox"),
        rule=_C + "proximal.proximal_sgd",
        old="mu * (x - anchor)",
        new="mu * (anchor - x)",
    ),
    Mutant(
        id="momentum-stale",
        words="the step uses the old buffer",
        algorithms=("momentum",),
        rule=_C + "momentum.momentum",
        old="state.x - eta_l * u",
        new="state.x - eta_l * state.u",
    ),
    Mutant(
        id="nesterov-old-buffer",
        words="the look-ahead uses the old buffer",
        algorithms=("nesterov",),
        rule=_C + "momentum.nesterov",
        old="(g + rho * u)",
        new="(g + rho * state.u)",
    ),
    Mutant(
        id="decayed-late",
        words="the decay starts one step late",
        algorithms=("decayed-sgd",),
        rule=_C + "sgd.decayed_sgd",
        old="gamma**k",
        new="gamma ** max(k - 1, 0)",
    ),
)
