"""Mutants of FedNova with cross-client variance reduction, as the text and as Algorithm 2 have it."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_ALGORITHMS = "fedspec.algorithms."
_STEPS = "fedspec.client.controlled."
_KEPT = "fedspec.mixing.control_variates."
_MOMENTUM_SOLVER = {"solver": "momentum"}
_LINE_13 = {"stored": "corrected"}

_fednova_vr = partial(Mutant, algorithms=("fednova-vr",))

_VR = (
    _fednova_vr(
        id="fednova-vr-sign",
        words="the correction has the wrong sign",
        rule=_STEPS + "corrected_gradient",
        old="return g + c_i",
        new="return g - c_i",
    ),
    _fednova_vr(
        id="fednova-vr-detached",
        words="the correction is made on a copy of the gradient",
        rule=_STEPS + "corrected_gradient",
        old="return g + c_i",
        new="return g",
    ),
    _fednova_vr(
        id="fednova-vr-twice",
        words="the correction is added twice",
        rule=_STEPS + "corrected_gradient",
        old="return g + c_i",
        new="return g + c_i + c_i",
    ),
    _fednova_vr(
        id="fednova-vr-unweighted",
        words="the mean direction is unweighted",
        rule=_KEPT + "cross_client",
        old="p @ d",
        new="sum(d) / len(d)",
    ),
    _fednova_vr(
        id="fednova-vr-own-only",
        words="the mean direction is left out",
        rule=_KEPT + "cross_client",
        old="p @ d - d",
        new="-d",
    ),
    _fednova_vr(
        id="fednova-vr-mean-only",
        words="the own direction is left out",
        rule=_KEPT + "cross_client",
        old="p @ d - d",
        new="p @ d + 0 * d",
    ),
    _fednova_vr(
        id="fednova-vr-stores-correction",
        words="the stored d_i holds the correction, so that c_i swings every round",
        rule=_KEPT + "stored_direction",
        old="d - c_i if",
        new="d if",
    ),
    _fednova_vr(
        id="fednova-vr-adds-correction",
        words="the correction is added to d_i",
        rule=_KEPT + "stored_direction",
        old="d - c_i if",
        new="d + c_i if",
    ),
    _fednova_vr(
        id="fednova-vr-next-client",
        words="every client keeps the direction of the next one",
        rule=_ALGORITHMS + "fednova_vr.step",
        old="x=x, d=d",
        new="x=x, d=stack([*d[1:], d[0]])",
    ),
    _fednova_vr(
        id="fednova-vr-steps-normaliser",
        words="changes are normalised by tau_i instead of ||a_i||_1",
        rule=_ALGORITHMS + "fednova_vr.step",
        old="a_norm=a_i",
        new="a_norm=numbers([tau], x)[0]",
        options=_MOMENTUM_SOLVER,
    ),
)

_fednova_alg2 = partial(Mutant, algorithms=("fednova-alg2",))

_ALG2 = (
    _fednova_alg2(
        id="fednova-alg2-one-more",
        words="one local step more than a_i counts",
        rule=_ALGORITHMS + "fednova_alg2.step",
        old="range(tau - missed)",
        new="range(tau + 1 - missed)",
    ),
    _fednova_alg2(
        id="fednova-alg2-fixed-point",
        words="every gradient is taken at the server's model",
        rule=_ALGORITHMS + "fednova_alg2.step",
        old="gradient(k, local.x)",
        new="gradient(k, x)",
    ),
    _fednova_alg2(
        id="fednova-alg2-never-stored",
        words="d_i is not stored",
        rule=_ALGORITHMS + "fednova_alg2.step",
        old="x=x, d=d",
        new="x=x, d=state.d",
    ),
    _fednova_alg2(
        id="fednova-alg2-nothing-stored",
        words="d_i is stored as zero",
        rule=_KEPT + "stored_direction",
        old="else d",
        new="else 0 * d",
        options=_LINE_13,
    ),
    _fednova_alg2(
        id="fednova-alg2-steps-normaliser",
        words="changes are normalised as without momentum",
        rule=_ALGORITHMS + "fednova_alg2.step",
        old="momentum_norm(tau, rho=h.rho)",
        new="tau",
    ),
    _fednova_alg2(
        id="fednova-alg2-correction-outside",
        words="the correction does not enter the momentum buffer",
        rule=_ALGORITHMS + "fednova_alg2.step",
        old="momentum(local, corrected_gradient(gradient(k, local.x), c_i[i])",
        new="momentum(replace(local, x=local.x - h.eta_l * c_i[i]), gradient(k, local.x)",
    ),
)

MUTANTS = (
    *_VR,
    *_ALG2,
    Mutant(
        id="fednova-alg2-buffer-kept",
        words="the momentum buffer is not reset: the next client goes on with it",
        algorithms=("fednova-alg2",),
        rule=f"{_ALGORITHMS}fednova_alg2.step",
        old="local = momentum(local,",
        new="local = step.last = momentum(replace(local, u=getattr(step, 'last', local).u) if k == 0 else local,",
        leaks="session",
    ),
)
