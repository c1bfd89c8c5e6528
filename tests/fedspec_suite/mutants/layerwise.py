"""Mutants of the local steps of LAMB, Fed-LAMB and its baselines."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_LAMB = "fedspec.client.lamb."
_LAMB_SOLVER = "fedspec.client.lamb_solver."
_ROUND = "fedspec.algorithms.local_ams."
_BOTH = ("fed-lamb", "fed-ams")
_PRECONDITION = _LAMB + "precondition"
_LAYER = _LAMB + "layer_step"

_SOLVER = (
    Mutant(
        id="lamb-v-uncorrected",
        words="the first moment alone is corrected",
        algorithms=("lamb",),
        rule=_LAMB_SOLVER + "lamb_ratio",
        old="v_hat = v / (1 - beta2**t)",
        new="v_hat = v",
    ),
    Mutant(
        id="lamb-epsilon-inside",
        words="eps inside the root: sqrt(v_hat + eps)",
        algorithms=("lamb",),
        rule=_LAMB_SOLVER + "lamb_ratio",
        old="(sqrt(v_hat) + eps)\n    kept",
        new="sqrt(v_hat + eps)\n    kept",
    ),
    Mutant(
        id="lamb-not-turned",
        words="the decay stands outside the normalised direction: - eta_l lam x",
        algorithms=("lamb",),
        rule=_LAMB_SOLVER + "lamb",
        old="layer_step(x_l, r_l, eta_l=eta_l, lam=lam,",
        new="layer_step((1 - eta_l * lam) * x_l, r_l, eta_l=eta_l,",
    ),
    Mutant(
        id="lamb-zero-layer-normalised",
        words="a layer of length zero moves by eta_l q / ||q|| instead of eta_l q",
        algorithms=("lamb",),
        rule=_LAMB_SOLVER + "lamb",
        old="x_l - eta_l * r_l)",
        new="x_l - eta_l * ratio(r_l, norm(r_l)))",
        options={"zero_layer": "ratio-one"},
    ),
    Mutant(
        id="lamb-one-layer",
        words="the whole model is one layer",
        algorithms=("lamb",),
        rule=_LAMB_SOLVER + "lamb",
        old="for l in layers:",
        new="for l in [slice(None)]:",
    ),
    Mutant(
        id="lamb-momentum-of-the-ratio",
        words="the gradient over the denominator instead of the first moment",
        algorithms=("lamb",),
        rule=_LAMB_SOLVER + "lamb_ratio",
        old="m_hat / (sqrt(v_hat) + eps)\n    kept",
        new="g / (sqrt(v_hat) + eps)\n    kept",
    ),
)

_MOMENTS = (
    Mutant(
        id="fed-lamb-m-forgets-weight",
        words="m sums gradients: beta1 m + g",
        algorithms=("fed-ams",),
        rule=_PRECONDITION,
        old="beta1 * state.m_i + (1 - beta1) * g,",
        new="beta1 * state.m_i + g,",
    ),
    Mutant(
        id="fed-lamb-betas-exchanged",
        words="beta1 and 1 - beta1 exchanged in m",
        algorithms=("fed-lamb",),
        rule=_PRECONDITION,
        old="beta1 * state.m_i + (1 - beta1) * g,",
        new="(1 - beta1) * state.m_i + beta1 * g,",
    ),
    Mutant(
        id="fed-lamb-v-of-m",
        words="v averages the square of m instead of that of g",
        algorithms=_BOTH,
        rule=_PRECONDITION,
        old="(1 - beta2) * g**2",
        new="(1 - beta2) * m_i**2",
    ),
    Mutant(
        id="fed-lamb-v-sums",
        words="v never decays: v + (1 - beta2) g^2",
        algorithms=_BOTH,
        rule=_PRECONDITION,
        old="beta2 * state.v_i +",
        new="state.v_i +",
    ),
    Mutant(
        id="fed-lamb-v-from-maximum",
        words="v is averaged with v_hat instead of itself",
        algorithms=_BOTH,
        rule=_PRECONDITION,
        old="beta2 * state.v_i +",
        new="beta2 * v_hat +",
    ),
    Mutant(
        id="fed-lamb-eager-denominator",
        words="the current v enters the denominator: max(v_hat, v_i)",
        algorithms=_BOTH,
        rule=_PRECONDITION,
        old="sqrt(v_hat) + eps)\n    return",
        new="sqrt(maximum(v_hat, v_i)) + eps)\n    return",
    ),
    Mutant(
        id="fed-lamb-own-denominator",
        words="a client divides by its own v, as Adam does",
        algorithms=_BOTH,
        rule=_PRECONDITION,
        old="sqrt(v_hat) + eps)\n    return",
        new="sqrt(v_i) + eps)\n    return",
    ),
    Mutant(
        id="fed-lamb-epsilon-inside",
        words="eps inside the root: sqrt(v_hat + eps)",
        algorithms=_BOTH,
        rule=_PRECONDITION,
        old="sqrt(v_hat) + eps)\n    return",
        new="sqrt(v_hat + eps))\n    return",
    ),
    Mutant(
        id="fed-lamb-no-root",
        words="no root: m / (v_hat + eps)",
        algorithms=_BOTH,
        rule=_PRECONDITION,
        old="sqrt(v_hat) + eps)\n    return",
        new="v_hat + eps)\n    return",
    ),
    Mutant(
        id="fed-ams-correction-late",
        words="bias-correction exponent t + 1",
        algorithms=("fed-ams",),
        rule=_PRECONDITION,
        old="m_hat = _corrected(m_i, beta1, t,",
        new="m_hat = _corrected(m_i, beta1, t + 1,",
    ),
    Mutant(
        id="fed-lamb-correction-exchanged",
        words="m is corrected with beta2",
        algorithms=_BOTH,
        rule=_PRECONDITION,
        old="m_hat = _corrected(m_i, beta1, t,",
        new="m_hat = _corrected(m_i, beta2, t,",
    ),
    Mutant(
        id="fed-ams-one-moment-kept-corrected",
        words="m, and not v, is replaced by its corrected value",
        algorithms=("fed-ams",),
        rule=_PRECONDITION,
        old="g**2, beta2, t, in_place)",
        new="g**2, beta2, t, False)",
        options={"bias_correction": "in-place"},
    ),
)

_STEPS = (
    Mutant(
        id="fed-lamb-decoupled-decay",
        words="the decay stands outside the normalised direction: - eta_l lam x",
        algorithms=("fed-lamb",),
        rule=_LAYER,
        old="q = p + lam * x\n    if",
        new="q, x = p, x - eta_l * lam * x\n    if",
    ),
    Mutant(
        id="fed-lamb-decay-sign",
        words="the sign of the decay is reversed",
        algorithms=("fed-lamb",),
        rule=_LAYER,
        old="q = p + lam * x",
        new="q = p - lam * x",
    ),
    Mutant(
        id="fed-lamb-norm-without-decay",
        words="the direction is divided by ||p|| instead of ||p + lam x||",
        algorithms=("fed-lamb",),
        rule=_LAYER,
        old="ratio(q, norm(q))",
        new="ratio(q, norm(p))",
    ),
    Mutant(
        id="fed-lamb-norm-squared",
        words="the direction is divided by the square of its length",
        algorithms=("fed-lamb",),
        rule=_LAYER,
        old="ratio(q, norm(q))",
        new="ratio(q, norm(q) ** 2)",
    ),
    Mutant(
        id="fed-lamb-norm-epsilon",
        words="1e-6 is added to the length of the direction",
        algorithms=("fed-lamb",),
        rule=_LAYER,
        old="ratio(q, norm(q))",
        new="q / (norm(q) + eta_l / eta_l / 10**6)",
    ),
    Mutant(
        id="fed-lamb-trust-clamped",
        words="phi is at most 1",
        algorithms=("fed-lamb",),
        rule=_LAYER,
        old="scaling(x, phi, phi_m, phi_M)",
        new="minimum(scaling(x, phi, phi_m, phi_M), 1)",
    ),
    Mutant(
        id="fed-lamb-zero-layer-moves",
        words="phi(0) = 1: a zero layer gets the plain rate",
        algorithms=("fed-lamb",),
        rule=_LAMB + "scaling",
        old="return norm(x)\n",
        new="return where_less(0, norm(x), norm(x), 1 + norm(x))\n",
    ),
    Mutant(
        id="fed-lamb-clip-ends-exchanged",
        words="phi_m and phi_M exchanged",
        algorithms=("fed-lamb",),
        rule=_LAMB + "scaling",
        old="minimum(maximum(norm(x), phi_m), phi_M)",
        new="minimum(maximum(norm(x), phi_M), phi_m)",
        options={"phi": "clip"},
    ),
    Mutant(
        id="fed-lamb-not-normalised-without-decay",
        words="layers are not normalised where lam is 0",
        algorithms=("fed-lamb",),
        rule=_LAYER,
        old="ratio(q, norm(q))",
        new="where_less(0, lam + 0 * q, ratio(q, norm(q)), q)",
    ),
    Mutant(
        id="fed-lamb-whole-model",
        words="the whole model is one layer",
        algorithms=("fed-lamb",),
        rule=_ROUND + "init",
        old="layers=layers(setup.shapes)",
        new="layers=(slice(0, len(x)),)",
    ),
    Mutant(
        id="fed-lamb-every-coordinate",
        words="every coordinate is a layer: steps by signs",
        algorithms=("fed-lamb",),
        rule=_ROUND + "init",
        old="layers=layers(setup.shapes)",
        new="layers=tuple(slice(j, j + 1) for j in range(len(x)))",
    ),
)

_ratio_step = partial(Mutant, algorithms=("fed-ams",), rule=_LAMB + "ratio_step", old="x - eta_l * p")

_PLAIN = (
    _ratio_step(
        id="fed-ams-normalised",
        words="the ratio is divided by its length, as in Fed-LAMB",
        new="x - eta_l * ratio(p, norm(p))",
    ),
    _ratio_step(
        id="fed-ams-scaled",
        words="the step is as long as the model, as in Fed-LAMB",
        new="x - eta_l * norm(x) * p",
    ),
    _ratio_step(id="fed-ams-rate-left-out", words="the ratio is not multiplied by the client rate", new="x - p"),
)

MUTANTS = (*_SOLVER, *_MOMENTS, *_STEPS, *_PLAIN)
