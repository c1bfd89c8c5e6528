"""ADMU: Adam with delayed updates of the second moment, as a local solver with a dead zone."""

from __future__ import annotations

from fedspec import phrases
from fedspec.arith import Count, Scalar, Vector, constant, sqrt, zeros
from fedspec.client.delay import due, unless_short, updates
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.readings import DeadZone
from fedspec.records import record
from fedspec.rules import checked, rule


@record
class Admu:
    """A local model, its two moments, the corrected second moment of the last update and the number of steps taken."""

    x: Vector
    m: Vector
    v: Vector
    v_hat: Vector
    t: Count


@checked
def begin(x: Vector, *, v0: Scalar = 0, m0: Scalar = 0) -> Admu:
    """The state at the start of a round; FedAda2's default is m_0 = v_0 = 0. The first step sets v_hat."""
    return Admu(x=x, m=constant(m0, x), v=constant(v0, x), v_hat=zeros(x), t=0)


@rule
def admu(
    state: Admu,
    g: Vector,
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    z: int = 1,
    epoch: int = 1,
    eps_s: Scalar = 0,
    dead_zone: DeadZone = DeadZone.STEP,
) -> Admu:
    """Local step of Adam whose second moment is updated every z steps; t = 1 at the first step.

        m = beta1 m + (1 - beta1) g                                             admu.m
        m_hat = m / (1 - beta1^t)                                               admu.m_hat
        v = beta2 v + (1 - beta2) g^2 if (t - 1)/z is whole, else v             admu.v
        v_hat = v / (1 - beta2^(floor((t - 1)/z) + 1)) at these t, else v_hat   admu.v_hat
        u = m_hat / (sqrt(v_hat) + eps)                                         admu.u
        x = x - eta_l u unless ||u|| < eps_s                                    admu.step
        x = x - eta_l u                                                         admu.step [dead_zone=momentum]
        m = 0 where ||u|| < eps_s                                               admu.kept [dead_zone=momentum]

    Alg. 8 leaves v_hat open where v is not updated, so that it cannot be run with z > 1; v_hat is carried as in Alg. 7,
    line 13. With ``DeadZone.MOMENTUM`` the step is always taken, and a short one leaves m = 0 to the next.

    Source: FedAda2, Alg. 7 (L1357); the dead zone and v_0: Alg. 8 (L1397).
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    m_hat = m / (1 - beta1**t)
    v = beta2 * state.v + (1 - beta2) * g**2 if due(t, z, epoch) else state.v
    v_hat = v / (1 - beta2 ** updates(t, z, epoch)) if due(t, z, epoch) else state.v_hat
    u = m_hat / (sqrt(v_hat) + eps)
    if dead_zone is DeadZone.MOMENTUM:
        return Admu(x=state.x - eta_l * u, m=unless_short(m, u, eps_s), v=v, v_hat=v_hat, t=t)
    x = state.x - eta_l * unless_short(u, u, eps_s)
    return Admu(x=x, m=m, v=v, v_hat=v_hat, t=t)


ROW = Algorithm(
    id="admu",
    family=Family.LOCAL_SOLVERS,
    place=17,
    title="Adam with delayed updates of the second moment (ADMU)",
    source="FedAda2, Alg. 7 (L1357) and Alg. 8 (L1397)",
    basis=Basis.READ,
    levels=("client",),
    readings=(
        Reading(
            name="fedada2",
            words="v_hat corrected by the number of its updates and carried between them; a short step is not taken",
            fixes={"dead_zone": "step"},
        ),
        Reading(
            name="fedada2-literal",
            words="a short step is taken and clears the momentum: Alg. 8 as printed (L1418-1421), against L142",
            fixes={"dead_zone": "momentum"},
        ),
    ),
    run=LocalSolver(rule=admu, begin=begin),
    costs=Costs(working="4 d", note="v_hat is v divided by a number: 3 d are enough"),
    traps=(
        phrases.FIRST_OF_EVERY_Z,
        "v_hat is corrected by the number of updates, m_hat by the number of steps",
        "v_hat is carried between updates, which the box of Alg. 8 forgets",
        "the box clears m after m_hat is formed: the step is taken and the momentum lost",
    ),
)
