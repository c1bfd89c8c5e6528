"""FedNova: average normalised changes, then take a step of effective length tau_eff.

    for each participating client i:
        x_i = x;  tau_i local steps of a solver with accumulation vector a_i
        d_i = (x - x_i) / (eta_l ||a_i||_1)
    tau_eff = sum_i p_i ||a_i||_1
    x = x - tau_eff sum_i w_i eta_l d_i    (w_i = p_i)

Source: FedNova, eqs. (4) and (12) (L198).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fedspec.algorithms.local import READ_BY, local_norm, local_run
from fedspec.algorithms.synchronous import a_norms, stacked, together
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.domains import pull
from fedspec.entry import Algorithm, Basis, Family, Method, Reading, above_zero
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.accumulation import code_norm
from fedspec.mixing.nova import (
    effective_steps,
    general_update,
    general_weights,
    normalised_gradient,
)
from fedspec.plan import Inbox
from fedspec.readings import NovaNorm, NovaWeights, Solver, TauEff, Weighting


@dataclass(frozen=True)
class FedNova(Hyper):
    """Hyper-parameters and readings of FedNova; mu, rho and gamma belong to the local solver."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **READ_BY,
        "tau_eff": ("tau_eff_choice=fixed",),
        "norm": ("solver=momentum-proximal-inside",),
    }

    eta_l: Scalar
    mu: Scalar = 0
    rho: Scalar = 0
    gamma: Scalar = 1
    tau_eff: Scalar = 1
    solver: Solver = Solver.SGD
    weights: Weighting = Weighting.EXAMPLES
    nova_weights: NovaWeights = NovaWeights.NOVA
    tau_eff_choice: TauEff = TauEff.WEIGHTED_NORM
    norm: NovaNorm = NovaNorm.ENTRIES


def init(h: FedNova, x: Vector) -> Vector:
    """Initial state: the server keeps only its model."""
    return x


def server(h: FedNova, x: Vector, messages: Inbox) -> tuple[Vector, dict[str, Any]]:
    """Normalise each change by its own ||a_i||_1, average, and step by tau_eff."""
    p, deltas = stacked(messages, h.weights, x)
    a: Any = a_norms(messages, x)
    d = normalised_gradient(deltas, eta_l=h.eta_l, a_norm=a[:, None])
    w = general_weights(p, a, h.nova_weights)
    tau_eff = effective_steps(p, a, together(messages).steps, h.tau_eff_choice, h.tau_eff)
    x = general_update(x, d, w, tau_eff=tau_eff, eta_l=h.eta_l)
    return x, {"tau_eff": tau_eff, "w": w}


def norm_of(h: FedNova, tau: int) -> Scalar:
    """Norm that a client sends with its change after tau steps: ||a_i||_1, or the divisor of the authors' code."""
    return code_norm(tau, alpha=pull(h.eta_l, h.mu), rho=h.rho) if h.norm is NovaNorm.CODE else local_norm(h, tau)


SYMBOLS = {"x": "x^(t,0)", "x_i": "x_i^(t,k)", "d_i": "d_i^(t)", "eta_l": "eta"}
"""Symbols of the paper that differ from ours; FedNova has only one rate, the clients'."""

ROW = Algorithm(
    id="fednova",
    family=Family.SERVERS,
    place=4,
    title="normalised averaging",
    source="FedNova, eqs. (4), (12) (L198)",
    basis=Basis.READ,
    levels=("server", "round"),
    readings=(
        Reading(
            name="fednova",
            words="w_i = p_i; tau_eff = sum p_i ||a_i||_1",
            fixes={"norm": "entries", "nova_weights": "nova", "tau_eff_choice": "weighted-norm"},
        ),
        Reading(
            name="weighted-steps",
            words="w_i = p_i; tau_eff = sum p_i tau_i (sec. 5, with the proximal solver)",
            fixes={"norm": "entries", "nova_weights": "nova", "tau_eff_choice": "weighted-steps"},
        ),
        Reading(
            name="fixed-tau-eff",
            words="w_i = p_i; tau_eff a constant (App. G)",
            fixes={"norm": "entries", "nova_weights": "nova", "tau_eff_choice": "fixed"},
        ),
        Reading(
            name="implied-weights",
            words="w_i proportional to p_i ||a_i||_1: plain averaging in the general rule, eqs. (5)-(7)",
            fixes={"norm": "entries", "nova_weights": "implied", "tau_eff_choice": "weighted-norm"},
        ),
        Reading(
            name="implied-weights-steps",
            words="w_i as in plain averaging, tau_eff = sum p_i tau_i (the green curve of sec. 5)",
            fixes={"norm": "entries", "nova_weights": "implied", "tau_eff_choice": "weighted-steps"},
        ),
        Reading(
            name="wang-2020-code",
            words="momentum with the pull inside its buffer, divided by a third number (the authors' code, "
            "which counts otherwise where mu or rho is 0); w_i = p_i, tau_eff = sum p_i tau_i",
            fixes={
                "solver": "momentum-proximal-inside",
                "norm": "code",
                "nova_weights": "nova",
                "tau_eff_choice": "weighted-steps",
            },
            requires=(above_zero("fednova", "mu"), above_zero("fednova", "rho")),
            levels=("round",),
        ),
    ),
    # The w_i are those that a subject was told, but for one reading.
    shows=("tau_eff",),
    run=Method(hyper=FedNova, init=init, server=server, local=local_run, norm=norm_of),
    costs=Costs(
        down="m d", up="m (d + 1)", server="d", note="a client sends ||a_i||_1 too; of the vector a_i nothing is sent"
    ),
    traps=(
        "changes are divided by ||a_i||_1, which is tau_i for plain SGD only",
        "tau_eff = sum_i p_i ||a_i||_1 is weighted; the mean of tau_i is another number",
        "d_i has the sign of a gradient, Delta_i the opposite one",
        "the coefficients of the Delta_i sum to more than 1: strongly unequal tau_i can diverge",
        "at a fixed rate the limit is near the optimum, not at it",
        "where momentum meets a proximal term, the authors' code divides by the norm of no solver",
    ),
    facts=(Fact.AFFINE, Fact.ISOTROPIC),
    symbols=SYMBOLS,
)
