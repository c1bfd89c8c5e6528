"""FedNova: average normalised changes, then take a step of effective length tau_eff.

    for each participating client i:
        x_i = x;  tau_i local steps of a solver with accumulation vector a_i
        d_i = (x - x_i) / (eta_l ||a_i||_1)
    tau_eff = sum_i p_i ||a_i||_1
    x = x - tau_eff sum_i w_i eta_l d_i    (w_i = p_i)

Source: FedNova, eqs. (4) and (12) (L198).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec.algorithms.hyper import Hyper
from fedspec.algorithms.local import local_solve
from fedspec.algorithms.synchronous import a_norms, stacked
from fedspec.arith import Scalar, Vector
from fedspec.mixing.accumulation import a_norm
from fedspec.mixing.nova import (
    effective_steps,
    general_update,
    general_weights,
    normalised_gradient,
)
from fedspec.plan import Message, Oracle
from fedspec.readings import NovaWeights, Solver, TauEff, Weighting


@dataclass(frozen=True)
class FedNova(Hyper):
    """Hyper-parameters and readings of FedNova; mu, rho and gamma are those of the local solver."""

    eta_l: Scalar
    mu: Scalar = 0
    rho: Scalar = 0
    gamma: Scalar = 1
    tau_eff: Scalar = 1
    solver: Solver = Solver.SGD
    weights: Weighting = Weighting.EXAMPLES
    nova_weights: NovaWeights = NovaWeights.NOVA
    tau_eff_choice: TauEff = TauEff.WEIGHTED_NORM


def init(h: FedNova, x: Vector) -> Vector:
    """The server keeps its model and nothing else."""
    return x


def local(h: FedNova, x: Vector, gradient: Oracle, tau: int) -> Vector:
    """The local model after tau steps of the solver."""
    return local_solve(h.solver, x, gradient, tau, eta_l=h.eta_l, mu=h.mu, rho=h.rho, gamma=h.gamma)


def norm(h: FedNova, tau: int) -> Scalar:
    """||a||_1 of the solver."""
    return a_norm(h.solver, tau, alpha=h.eta_l * h.mu, rho=h.rho, gamma=h.gamma)


def server(h: FedNova, x: Vector, messages: Sequence[Message]) -> tuple[Vector, dict[str, Any]]:
    """Normalise each change by its own ||a_i||_1, average, and step by tau_eff."""
    p, deltas = stacked(messages, h.weights)
    a = a_norms(messages, x)
    d = np.stack([normalised_gradient(delta, eta_l=h.eta_l, a_norm=a_i) for delta, a_i in zip(deltas, a, strict=True)])
    w = general_weights(p, a, h.nova_weights)
    tau_eff = effective_steps(p, a, [m.steps for m in messages], h.tau_eff_choice, h.tau_eff)
    x = general_update(x, d, w, tau_eff=tau_eff, eta_l=h.eta_l)
    return x, {"tau_eff": tau_eff, "w": w}
