"""Gradient descent with steps of bounded length: the client of the heavy-tailed examples."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector, norm
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.facts import Fact
from fedspec.rules import rule


@rule
def normalised_sgd(x: Vector, g: Vector, *, eta_l: Scalar, eps: Scalar) -> Vector:
    """Local step divided by the norm of its own gradient: no step is longer than eta_l.

        x = x - eta_l g / (||g|| + eps)            normalised-sgd.step

    The length is that of the whole vector and nothing is accumulated, although the text calls it AdaGrad; in one
    dimension, for one step and eps outside the root, the two agree. Source: FedAda2, App. A, eq. (2) (L377).
    """
    return x - eta_l * (g / (norm(g) + eps))


ROW = Algorithm(
    id="normalised-sgd",
    family=Family.LOCAL_SOLVERS,
    place=4,
    title="gradient descent, each step divided by the length of its gradient",
    source="FedAda2, App. A, eq. (2) (L377), under the name AdaGrad",
    basis=Basis.READ,
    levels=("client",),
    readings=(Reading(name="fedada2", words="the length of the whole gradient, nothing accumulated, eps added to it"),),
    run=LocalSolver(rule=normalised_sgd),
    costs=Costs(),
    traps=(
        "the length is that of the whole gradient, of this step alone: no accumulation, despite the name in the text",
        "eps is of order one there, not a small stabiliser",
    ),
    facts=(Fact.ISOTROPIC, Fact.NORMALISED),
)
