"""Mutants of FedNova with cross-client variance reduction, as the text and as Algorithm 2 have it."""

from __future__ import annotations

from fedspec_suite.mutants.controls import Edit, edits_of
from fedspec_suite.mutants.mutant import Mutant

_ALGORITHMS = "fedspec.algorithms."
_STEPS = "fedspec.client.controlled."
_KEPT = "fedspec.mixing.control_variates."
_MOMENTUM_SOLVER = {"solver": "momentum"}

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
        "x=x, d=np.stack(d)",
        "x=x, d=np.stack(d[1:] + d[:1])",
    ),
    (
        "steps-normaliser",
        "changes are normalised by tau_i instead of ||a_i||_1",
        f"{_ALGORITHMS}fednova_vr.step",
        "a_norm=a[i]",
        "a_norm=numbers([tau], a)[0]",
        _MOMENTUM_SOLVER,
    ),
)

_ALG2: tuple[Edit, ...] = (
    (
        "one-more",
        "one local step more than a_i counts",
        f"{_ALGORITHMS}fednova_alg2.local",
        "range(tau if",
        "range(tau + 1 if",
    ),
    (
        "fixed-point",
        "every gradient is taken at the server's model",
        f"{_ALGORITHMS}fednova_alg2.local",
        "gradient(k, state.x)",
        "gradient(k, x)",
    ),
    ("never-stored", "d_i is not stored", f"{_ALGORITHMS}fednova_alg2.step", "d=kept", "d=state.d"),
    ("nothing-stored", "d_i is stored as zero", f"{_KEPT}stored_direction", "else d", "else 0 * d"),
    (
        "steps-normaliser",
        "changes are normalised as without momentum",
        f"{_ALGORITHMS}fednova_alg2.step",
        "a_norm(Solver.MOMENTUM, tau, rho=h.rho)",
        "tau",
    ),
    (
        "correction-outside",
        "the correction does not enter the momentum buffer",
        f"{_ALGORITHMS}fednova_alg2.local",
        "momentum(state, corrected_gradient(gradient(k, state.x), c_i)",
        "momentum(replace(state, x=state.x - h.eta_l * c_i), gradient(k, state.x)",
    ),
)

MUTANTS = (
    *edits_of("fednova-vr", _VR),
    *edits_of("fednova-alg2", _ALG2),
    Mutant(
        id="fednova-alg2-buffer-kept",
        words="the momentum buffer is not reset: the next client goes on with it",
        algorithms=("fednova-alg2",),
        rule=f"{_ALGORITHMS}fednova_alg2.local",
        old="state = momentum(state,",
        new="state = local.last = momentum(replace(state, u=getattr(local, 'last', state).u) if k == 0 else state,",
        leaks="session",
    ),
)
