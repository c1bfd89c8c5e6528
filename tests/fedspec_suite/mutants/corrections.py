"""Mutants of FedNova with cross-client variance reduction, as the text and as Algorithm 2 have it."""

from __future__ import annotations

from fedspec_suite.mutants.controls import Edit, edits_of
from fedspec_suite.mutants.mutant import Mutant

_ALGORITHMS = "fedspec.algorithms."
_STEPS = "fedspec.client.controlled."
_KEPT = "fedspec.mixing.control_variates."
_MOMENTUM_SOLVER = {"solver": "momentum"}
_LINE_13 = {"stored": "corrected"}

_VR: tuple[Edit, ...] = (
    ("sign", "the correction has the wrong sign", f"{_STEPS}corrected_gradient", "return g + c_i", "return g - c_i"),
    (
        "detached",
        "the correction is made on a copy of the gradient",
        f"{_STEPS}corrected_gradient",
        "return g + c_i",
        "return g",
    ),
    ("twice", "the correction is added twice", f"{_STEPS}corrected_gradient", "return g + c_i", "return g + c_i + c_i"),
    ("unweighted", "the mean direction is unweighted", f"{_KEPT}cross_client", "p @ d", "sum(d) / len(d)"),
    ("own-only", "the mean direction is left out", f"{_KEPT}cross_client", "p @ d - d", "-d"),
    ("mean-only", "the own direction is left out", f"{_KEPT}cross_client", "p @ d - d", "p @ d + 0 * d"),
    (
        "stores-correction",
        "the stored d_i holds the correction, so that c_i swings every round",
        f"{_KEPT}stored_direction",
        "d - c_i if",
        "d if",
    ),
    ("adds-correction", "the correction is added to d_i", f"{_KEPT}stored_direction", "d - c_i if", "d + c_i if"),
    (
        "next-client",
        "every client keeps the direction of the next one",
        f"{_ALGORITHMS}fednova_vr.step",
        "x=x, d=d",
        "x=x, d=stack([*d[1:], d[0]])",
    ),
    (
        "steps-normaliser",
        "changes are normalised by tau_i instead of ||a_i||_1",
        f"{_ALGORITHMS}fednova_vr.step",
        "a_norm=a_i",
        "a_norm=numbers([tau], x)[0]",
        _MOMENTUM_SOLVER,
    ),
)

_ALG2: tuple[Edit, ...] = (
    (
        "one-more",
        "one local step more than a_i counts",
        f"{_ALGORITHMS}fednova_alg2.step",
        "range(tau - missed)",
        "range(tau + 1 - missed)",
    ),
    (
        "fixed-point",
        "every gradient is taken at the server's model",
        f"{_ALGORITHMS}fednova_alg2.step",
        "gradient(k, local.x)",
        "gradient(k, x)",
    ),
    ("never-stored", "d_i is not stored", f"{_ALGORITHMS}fednova_alg2.step", "x=x, d=d", "x=x, d=state.d"),
    ("nothing-stored", "d_i is stored as zero", f"{_KEPT}stored_direction", "else d", "else 0 * d", _LINE_13),
    (
        "steps-normaliser",
        "changes are normalised as without momentum",
        f"{_ALGORITHMS}fednova_alg2.step",
        "momentum_norm(tau, rho=h.rho)",
        "tau",
    ),
    (
        "correction-outside",
        "the correction does not enter the momentum buffer",
        f"{_ALGORITHMS}fednova_alg2.step",
        "momentum(local, corrected_gradient(gradient(k, local.x), c_i[i])",
        "momentum(replace(local, x=local.x - h.eta_l * c_i[i]), gradient(k, local.x)",
    ),
)

MUTANTS = (
    *edits_of("fednova-vr", _VR),
    *edits_of("fednova-alg2", _ALG2),
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
