"""Gradient descent on the proximal objective of FedProx."""

from __future__ import annotations

from fedspec import phrases
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.facts import Fact
from fedspec.rules import rule


@rule
def proximal_sgd(x: Vector, g: Vector, anchor: Vector, *, eta_l: Scalar, mu: Scalar) -> Vector:
    """Local step on F_i(x) + mu/2 ||x - anchor||^2, the anchor being the model that the round started from.

        x = x - eta_l (g + mu (x - anchor))        proximal-sgd.step

    Accumulation vector a_k = (1 - alpha)^(tau-1-k) with alpha = eta_l mu. Source: FedNova, eqs. (7), (31).
    """
    return x - eta_l * (g + mu * (x - anchor))


ROW = Algorithm(
    id="proximal-sgd",
    family=Family.LOCAL_SOLVERS,
    place=3,
    title="gradient descent on FedProx's proximal objective",
    source="FedNova, eqs. (7), (31)",
    basis=Basis.READ,
    levels=("client",),
    readings=(Reading(name="fednova", words="the anchor is the model that the round began with"),),
    run=LocalSolver(rule=proximal_sgd),
    costs=Costs(working="2 d", note="the anchor is kept during the round"),
    traps=(phrases.ANCHOR_IS_OLD, "alpha = eta_l mu changes when the rate does, and ||a||_1 with it"),
    facts=(Fact.ISOTROPIC,),
    symbols={"eta_l": "eta"},
)
