"""Systematic mutants of adaptive local solvers: AdaGrad, Adam, Yogi, AMSGrad and SM3."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_C = "fedspec.client."
_MOMENTS = {"bias_correction": "moments"}
_FIRST = "beta1 * state.m + (1 - beta1) * g"
_SECOND = "beta2 * state.v + (1 - beta2) * g**2"
_SM3 = f"{_C}sm3."

MUTANTS = (
    *(
        Mutant(
            id=f"adagrad-{slug}",
            words=words,
            algorithms=("adagrad",),
            rule=f"{_C}adagrad.general_adagrad",
            old=old,
            new=new,
        )
        for slug, words, old, new in (
            ("forgets", "the accumulator is cleared at every step", "state.v + g**2", "0 * state.v + g**2"),
            ("no-square", "the gradient is not squared", "g**2", "abs(g)"),
            (
                "maximum",
                "the largest square so far instead of the sum",
                "state.v + g**2",
                "maximum(state.v, g**2)",
            ),
            (
                "no-epsilon",
                "eps is absent",
                "eta_l * g / root(v, eps, epsilon)",
                "eta_l * ratio(g, root(v, 0 * eps, epsilon))",
            ),
            ("epsilon-squared", "eps is squared", "root(v, eps,", "root(v, eps * eps,"),
        )
    ),
    Mutant(
        id="adagrad-v0-ignored",
        words="v starts at zero whatever v_0 is",
        algorithms=("adagrad",),
        rule=f"{_C}adagrad.begin",
        old="constant(v0, x)",
        new="constant(0 * v0, x)",
    ),
    *(
        Mutant(id=f"{a}-{slug}", words=words, algorithms=(a,), rule=f"{_C}{a}.general_{a}", old=old, new=new)
        for a in ("adam", "yogi", "amsgrad")
        for slug, words, old, new in (
            ("m-exchanged", "beta1 and 1 - beta1 are exchanged", _FIRST, "(1 - beta1) * state.m + beta1 * g"),
            ("m-sum", "the first moment is a sum: m = beta1 m + g", _FIRST, "beta1 * state.m + g"),
        )
    ),
    *(
        Mutant(id=f"{a}-{slug}", words=words, algorithms=(a,), rule=f"{_C}{a}.general_{a}", old=old, new=new)
        for a in ("adam", "amsgrad")
        for slug, words, old, new in (
            ("v-exchanged", "beta2 and 1 - beta2 are exchanged", _SECOND, "(1 - beta2) * state.v + beta2 * g**2"),
            ("no-square", "the second moment averages |g|", _SECOND, "beta2 * state.v + (1 - beta2) * abs(g)"),
            ("v-from-m", "the second moment averages m^2", _SECOND, "beta2 * state.v + (1 - beta2) * m**2"),
            (
                "betas-swapped",
                "beta1 and beta2 change places",
                f"{_FIRST}\n    v = {_SECOND}",
                "beta2 * state.m + (1 - beta2) * g\n    v = beta1 * state.v + (1 - beta1) * g**2",
            ),
        )
    ),
    Mutant(
        id="adam-second-moment-only",
        words="only the second moment is corrected",
        algorithms=("adam",),
        rule=f"{_C}adam.general_adam",
        old="m_hat = corrected(m, beta1, t, bias_correction)",
        new="m_hat = m",
        options=_MOMENTS,
    ),
    Mutant(
        id="adam-counter-stays",
        words="the steps are not counted: the correction stays that of the first",
        algorithms=("adam",),
        rule=f"{_C}adam.general_adam",
        old="t = state.t + 1",
        new="t = 1",
        options=_MOMENTS,
    ),
    Mutant(
        id="adam-stale-v",
        words="the step uses the second moment of the step before",
        algorithms=("adam",),
        rule=f"{_C}adam.general_adam",
        old="v_hat = corrected(v,",
        new="v_hat = corrected(state.v,",
    ),
    *(
        Mutant(id=f"yogi-{slug}", words=words, algorithms=("yogi",), rule=f"{_C}yogi.general_yogi", old=old, new=new)
        for slug, words, old, new in (
            (
                "sign",
                "the sign of Yogi's update is reversed",
                "sign(state.v - g**2)",
                "sign(g**2 - state.v)",
            ),
            (
                "v-exchanged",
                "beta2 stands where 1 - beta2 should",
                "(1 - beta2) * g**2",
                "beta2 * g**2",
            ),
            (
                "grows",
                "v only grows",
                "state.v - (1 - beta2) * g**2 * sign(state.v - g**2)",
                "state.v + (1 - beta2) * g**2",
            ),
            ("compares-unsquared", "the sign compares v with g", "sign(state.v - g**2)", "sign(state.v - g)"),
        )
    ),
    *(
        Mutant(
            id=f"amsgrad-{slug}",
            words=words,
            algorithms=("amsgrad",),
            rule=f"{_C}amsgrad.general_amsgrad",
            old=old,
            new=new,
        )
        for slug, words, old, new in (
            (
                "average",
                "v_hat averages instead of taking the larger one",
                "maximum(state.v_hat, corrected(v, beta2, t, before))",
                "(state.v_hat + corrected(v, beta2, t, before)) / 2",
            ),
            (
                "maximum-of-squares",
                "the maximum of squared gradients instead of second moments",
                "corrected(v, beta2, t, before)",
                "g**2",
            ),
            ("maximum-in-v", "v continues from its maximum", "beta2 * state.v +", "beta2 * state.v_hat +"),
            (
                "stale",
                "the step uses the maximum of the step before",
                "corrected(v_hat, beta2,",
                "corrected(state.v_hat, beta2,",
            ),
        )
    ),
    Mutant(
        id="sm3-i-sums",
        words="a set adds up the squares of its coordinates instead of taking the largest",
        algorithms=("sm3-i",),
        rule=f"{_SM3}accumulate_i",
        old="cover.greatest(g_squared)",
        new="array([sum(g_squared[j] for j in S_r) for S_r in cover.sets], g_squared)",
    ),
    Mutant(
        id="sm3-i-least",
        words="a set takes the smallest square of its coordinates instead of the largest",
        algorithms=("sm3-i",),
        rule=f"{_SM3}accumulate_i",
        old="cover.greatest(g_squared)",
        new="smallest(gather(g_squared, cover._members))",
    ),
    Mutant(
        id="sm3-i-stale",
        words="the bounds come from the accumulators of the step before",
        algorithms=("sm3-i",),
        rule=f"{_SM3}accumulate_i",
        old="mu = mu + cover.greatest(g_squared)\n    nu = cover.least(mu)",
        new="old, mu = mu, mu + cover.greatest(g_squared)\n    nu = cover.least(old)",
    ),
    Mutant(
        id="sm3-ii-adds-up",
        words="the accumulators are not cleared before the maximum is taken: they add up",
        algorithms=("sm3-ii",),
        rule=f"{_SM3}accumulate_ii",
        old="mu = cover",
        new="mu = mu + cover",
    ),
    *(
        Mutant(id=f"{a}-{slug}", words=words, algorithms=(a,), rule=f"{_SM3}{a.replace('-', '_')}", old=old, new=new)
        for a in ("sm3-i", "sm3-ii")
        for slug, words, old, new in (
            ("no-square", "the accumulators take |g|", "g**2", "abs(g)"),
            ("uphill", "the step goes uphill", "state.x - eta_l", "state.x + eta_l"),
            ("stale-bound", "the step uses the bound of the step before", "_ratio(g, nu,", "_ratio(g, state.nu,"),
        )
    ),
    Mutant(
        id="sm3-no-root",
        words="the root is missing",
        algorithms=("sm3-i", "sm3-ii"),
        rule=f"{_SM3}_ratio",
        old="sqrt(nu) + eps",
        new="nu + eps",
        options={"zero": "epsilon"},
    ),
    Mutant(
        id="sm3-first-axis",
        words="only the slices along the first axis are covered",
        algorithms=("sm3-i", "sm3-ii"),
        rule="fedspec.covers.named_cover",
        old="in enumerate(shape)",
        new="in enumerate(shape[:1])",
        options={"cover": "axes"},
    ),
    Mutant(
        id="sm3-column-major",
        words="coordinates are counted in column-major order",
        algorithms=("sm3-i", "sm3-ii"),
        rule="fedspec.covers.named_cover",
        old="list(product(*map(range, shape)))",
        new="[place[::-1] for place in product(*map(range, shape[::-1]))]",
        options={"cover": "axes"},
    ),
)
