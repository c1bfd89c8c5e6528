"""Systematic mutants of adaptive local solvers: AdaGrad, Adam, Yogi, AMSGrad and SM3."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_C = "fedspec.client."
_MOMENTS = {"bias_correction": "moments"}
_FIRST = "beta1 * state.m + (1 - beta1) * g"
_SECOND = "beta2 * state.v + (1 - beta2) * g**2"
_SM3 = f"{_C}sm3."

_adagrad = partial(Mutant, algorithms=("adagrad",), rule=f"{_C}adagrad.general_adagrad")
_yogi = partial(Mutant, algorithms=("yogi",), rule=f"{_C}yogi.general_yogi")
_amsgrad = partial(Mutant, algorithms=("amsgrad",), rule=f"{_C}amsgrad.general_amsgrad")

MUTANTS = (
    _adagrad(
        id="adagrad-forgets",
        words="the accumulator is cleared at every step",
        old="state.v + g**2",
        new="0 * state.v + g**2",
    ),
    _adagrad(id="adagrad-no-square", words="the gradient is not squared", old="g**2", new="abs(g)"),
    _adagrad(
        id="adagrad-maximum",
        words="the largest square so far instead of the sum",
        old="state.v + g**2",
        new="maximum(state.v, g**2)",
    ),
    _adagrad(
        id="adagrad-no-epsilon",
        words="eps is absent",
        old="eta_l * g / root(v, eps, epsilon)",
        new="eta_l * ratio(g, root(v, 0 * eps, epsilon))",
    ),
    _adagrad(id="adagrad-epsilon-squared", words="eps is squared", old="root(v, eps,", new="root(v, eps * eps,"),
    Mutant(
        id="adagrad-v0-ignored",
        words="v starts at zero whatever v_0 is",
        algorithms=("adagrad",),
        rule=f"{_C}adagrad.begin",
        old="constant(v0, x)",
        new="constant(0 * v0, x)",
    ),
    *(
        mutant
        for a in ("adam", "yogi", "amsgrad")
        for mutant in (
            Mutant(
                id=a + "-m-exchanged",
                words="beta1 and 1 - beta1 are exchanged",
                algorithms=(a,),
                rule=f"{_C}{a}.general_{a}",
                old=_FIRST,
                new="(1 - beta1) * state.m + beta1 * g",
            ),
            Mutant(
                id=a + "-m-sum",
                words="the first moment is a sum: m = beta1 m + g",
                algorithms=(a,),
                rule=f"{_C}{a}.general_{a}",
                old=_FIRST,
                new="beta1 * state.m + g",
            ),
        )
    ),
    *(
        mutant
        for a in ("adam", "amsgrad")
        for mutant in (
            Mutant(
                id=a + "-v-exchanged",
                words="beta2 and 1 - beta2 are exchanged",
                algorithms=(a,),
                rule=f"{_C}{a}.general_{a}",
                old=_SECOND,
                new="(1 - beta2) * state.v + beta2 * g**2",
            ),
            Mutant(
                id=a + "-no-square",
                words="the second moment averages |g|",
                algorithms=(a,),
                rule=f"{_C}{a}.general_{a}",
                old=_SECOND,
                new="beta2 * state.v + (1 - beta2) * abs(g)",
            ),
            Mutant(
                id=a + "-v-from-m",
                words="the second moment averages m^2",
                algorithms=(a,),
                rule=f"{_C}{a}.general_{a}",
                old=_SECOND,
                new="beta2 * state.v + (1 - beta2) * m**2",
            ),
            Mutant(
                id=a + "-betas-swapped",
                words="beta1 and beta2 change places",
                algorithms=(a,),
                rule=f"{_C}{a}.general_{a}",
                old=f"{_FIRST}\n    v = {_SECOND}",
                new="beta2 * state.m + (1 - beta2) * g\n    v = beta1 * state.v + (1 - beta1) * g**2",
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
    _yogi(
        id="yogi-sign",
        words="the sign of Yogi's update is reversed",
        old="sign(state.v - g**2)",
        new="sign(g**2 - state.v)",
    ),
    _yogi(
        id="yogi-v-exchanged", words="beta2 stands where 1 - beta2 should", old="(1 - beta2) * g**2", new="beta2 * g**2"
    ),
    _yogi(
        id="yogi-grows",
        words="v only grows",
        old="state.v - (1 - beta2) * g**2 * sign(state.v - g**2)",
        new="state.v + (1 - beta2) * g**2",
    ),
    _yogi(
        id="yogi-tie-falls",
        words="v falls where it equals g^2: the sign of 0 is taken as 1",
        old="sign(state.v - g**2)",
        new="sign(2 * sign(state.v - g**2) + 1)",
    ),
    _yogi(
        id="yogi-compares-unsquared",
        words="the sign compares v with g",
        old="sign(state.v - g**2)",
        new="sign(state.v - g)",
    ),
    _amsgrad(
        id="amsgrad-average",
        words="v_hat averages instead of taking the larger one",
        old="maximum(state.v_hat, corrected(v, beta2, t, before))",
        new="(state.v_hat + corrected(v, beta2, t, before)) / 2",
    ),
    _amsgrad(
        id="amsgrad-maximum-of-squares",
        words="the maximum of squared gradients instead of second moments",
        old="corrected(v, beta2, t, before)",
        new="g**2",
    ),
    _amsgrad(
        id="amsgrad-maximum-in-v",
        words="v continues from its maximum",
        old="beta2 * state.v +",
        new="beta2 * state.v_hat +",
    ),
    _amsgrad(
        id="amsgrad-stale",
        words="the step uses the maximum of the step before",
        old="corrected(v_hat, beta2,",
        new="corrected(state.v_hat, beta2,",
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
        new="-cover.greatest(-g_squared)",
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
        mutant
        for a in ("sm3-i", "sm3-ii")
        for mutant in (
            Mutant(
                id=a + "-no-square",
                words="the accumulators take |g|",
                algorithms=(a,),
                rule=f"{_SM3}{a.replace('-', '_')}",
                old="g**2",
                new="abs(g)",
            ),
            Mutant(
                id=a + "-uphill",
                words="the step goes uphill",
                algorithms=(a,),
                rule=f"{_SM3}{a.replace('-', '_')}",
                old="state.x - eta_l",
                new="state.x + eta_l",
            ),
            Mutant(
                id=a + "-stale-bound",
                words="the step uses the bound of the step before",
                algorithms=(a,),
                rule=f"{_SM3}{a.replace('-', '_')}",
                old="_ratio(g, nu,",
                new="_ratio(g, state.nu,",
            ),
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
        old="block.reshape(shape)",
        new='block.reshape(shape, order="F")',
        options={"cover": "axes"},
    ),
)
