"""AdaGrad as a local solver."""

from __future__ import annotations

from fedspec import phrases
from fedspec.arith import Scalar, Vector, constant
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.preconditioner import root
from fedspec.readings import Epsilon
from fedspec.records import record
from fedspec.rules import checked, rule


@record
class AdaGrad:
    """A local model and the sum of its squared gradients."""

    x: Vector
    v: Vector


@checked
def begin(x: Vector, *, v0: Scalar = 0) -> AdaGrad:
    """The state at the start of a round; FedAda2 starts at v_0 = 0."""
    return AdaGrad(x=x, v=constant(v0, x))


@rule
def adagrad(state: AdaGrad, g: Vector, *, eta_l: Scalar, eps: Scalar, epsilon: Epsilon = Epsilon.OUTSIDE) -> AdaGrad:
    """Local step of AdaGrad.

        v = v + g^2                        adagrad.v
        x = x - eta_l g / (sqrt(v) + eps)  adagrad.step
        x = x - eta_l g / sqrt(v + eps)    adagrad.step [epsilon=inside]

    The step uses the new v. Source: FedAda2, Alg. 9 with z = 1 (L1490).
    """
    v = state.v + g**2
    x = state.x - eta_l * g / root(v, eps, epsilon)
    return AdaGrad(x=x, v=v)


ROW = Algorithm(
    id="adagrad",
    family=Family.LOCAL_SOLVERS,
    place=10,
    title="AdaGrad",
    source="FedAda2, Alg. 9 with z = 1 (L1490)",
    basis=Basis.READ,
    levels=("client",),
    readings=(
        Reading(name="fedada2", words="eps outside the root, any v_0 >= 0", fixes={"epsilon": "outside"}),
        Reading(name="epsilon-inside", words="sqrt(v + eps)", fixes={"epsilon": "inside"}),
    ),
    run=LocalSolver(rule=adagrad, begin=begin),
    costs=Costs(working="2 d"),
    traps=(phrases.V_IS_NEW, phrases.EPS_OUTSIDE),
)
