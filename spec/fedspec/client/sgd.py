"""Stochastic gradient descent, with a constant rate or one that decays inside the round."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.facts import Fact
from fedspec.rules import rule


@rule
def sgd(x: Vector, g: Vector, *, eta_l: Scalar) -> Vector:
    """Local step of gradient descent.

        x = x - eta_l g                            sgd.step

    Accumulation vector a_k = 1. Source: FedNova, eq. (2) and App. B (L52).
    """
    return x - eta_l * g


@rule
def decayed_sgd(x: Vector, g: Vector, *, k: Scalar, eta_l: Scalar, gamma: Scalar) -> Vector:
    """Local step k = 0, 1, ... of gradient descent whose rate falls by gamma at each step.

        x = x - eta_l gamma^k g                    decayed-sgd.step

    Accumulation vector a_k = gamma^k. Source: FedNova, App. B.
    """
    rate: Scalar = eta_l * gamma**k
    return x - rate * g


ROWS = (
    Algorithm(
        id="sgd",
        family=Family.LOCAL_SOLVERS,
        place=1,
        title="gradient descent",
        source="FedNova, eq. (2) and App. B (L52)",
        basis=Basis.READ,
        levels=("client",),
        readings=(Reading(name="fednova", words="x = x - eta_l g"),),
        run=LocalSolver(rule=sgd),
        costs=Costs(),
        traps=("the gradient is taken at the local model of the same step",),
        facts=(Fact.ISOTROPIC,),
        symbols={"eta_l": "eta"},
    ),
    Algorithm(
        id="decayed-sgd",
        family=Family.LOCAL_SOLVERS,
        place=2,
        title="gradient descent whose rate decays inside the round",
        source="FedNova, App. B",
        basis=Basis.READ,
        levels=("client",),
        readings=(Reading(name="fednova", words="rate eta_l gamma^k at step k = 0, 1, ... of the round"),),
        run=LocalSolver(rule=decayed_sgd),
        costs=Costs(),
        traps=("the first step of a round has the whole rate: gamma^0", "the decay starts again each round"),
        facts=(Fact.ISOTROPIC,),
        symbols={"eta_l": "eta"},
    ),
)
