"""AGDU: AdaGrad with delayed updates, as a local solver with a dead zone."""

from __future__ import annotations

from fedspec import phrases
from fedspec.arith import Count, Scalar, Vector, constant, sqrt
from fedspec.client.delay import due, unless_short
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.records import record
from fedspec.rules import checked, rule


@record
class Agdu:
    """A local model, the sum of the squared gradients at the updates and the number of steps taken."""

    x: Vector
    v: Vector
    t: Count


@checked
def begin(x: Vector, *, v0: Scalar = 0) -> Agdu:
    """The state at the start of a round; FedAda2's default is v_0 = 0."""
    return Agdu(x=x, v=constant(v0, x), t=0)


@rule
def agdu(state: Agdu, g: Vector, *, eta_l: Scalar, eps: Scalar, z: int = 1, epoch: int = 1, eps_s: Scalar = 0) -> Agdu:
    """Local step of AdaGrad whose accumulator is updated every z steps; t = 1 at the first step.

        v = v + g^2 if (t - 1)/z is whole, else v  agdu.v
        u = g / (sqrt(v) + eps)                    agdu.u
        x = x - eta_l u unless ||u|| < eps_s       agdu.step

    The step uses the new v. Source: FedAda2, Alg. 9 (L1490); the dead zone: Alg. 10, lines 14-16 (L1532).
    """
    t = state.t + 1
    v = state.v + g**2 if due(t, z, epoch) else state.v
    u = g / (sqrt(v) + eps)
    x = state.x - eta_l * unless_short(u, u, eps_s)
    return Agdu(x=x, v=v, t=t)


ROW = Algorithm(
    id="agdu",
    family=Family.LOCAL_SOLVERS,
    place=16,
    title="AdaGrad with delayed updates (AGDU)",
    source="FedAda2, Alg. 9 (L1490) and Alg. 10 (L1513)",
    basis=Basis.READ,
    levels=("client",),
    readings=(
        Reading(name="fedada2", words="v updated at steps 1, z + 1, 2z + 1, ..., eps outside the root, any v_0 >= 0"),
    ),
    run=LocalSolver(rule=agdu, begin=begin),
    costs=Costs(working="2 d", note="ceil(tau/z) updates of v in a round instead of tau"),
    traps=(phrases.FIRST_OF_EVERY_Z, "with z > 1 a coordinate may move further than eta_l", phrases.DEAD_ZONE),
)
