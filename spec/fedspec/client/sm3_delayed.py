"""SM3 with delayed updates, the local solver of FedAda2, with a dead zone."""

from __future__ import annotations

from fedspec import phrases
from fedspec.arith import Count, Scalar, Sets, Vector, constant, sqrt, zeros
from fedspec.client.delay import due, unless_short
from fedspec.client.sm3 import accumulate_i, accumulate_ii
from fedspec.costs import Costs
from fedspec.covers import AnyCover
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.readings import Idle
from fedspec.records import record
from fedspec.rules import checked, rule


@record
class DelayedSm3:
    """A local model, the accumulators mu (one for each set), the bounds nu of the last step and the steps taken."""

    x: Vector
    mu: Sets
    nu: Vector
    t: Count


@checked
def begin(x: Vector, cover: AnyCover, *, v0: Scalar = 0) -> DelayedSm3:
    """The state at the start of a round: v_0 in every accumulator, 0 by default; the first step sets nu.

    The print has mu_0 = 0 (FedAda2, Algs. 3 and 4, L704 and L720) or none (Alg. 2, which gives v_0, L672, and never
    reads it): a run as printed, whatever its v_0, is that of v_0 = 0 here. The bound of L752 asks for v_0 in mu_0.
    """
    return DelayedSm3(x=x, mu=constant(v0, x, cover.q), nu=zeros(x), t=0)


@rule
def sm3_i_delayed(
    state: DelayedSm3,
    g: Vector,
    cover: AnyCover,
    *,
    eta_l: Scalar,
    eps: Scalar,
    z: int = 1,
    epoch: int = 1,
    eps_s: Scalar = 0,
) -> DelayedSm3:
    """Local step of SM3-I whose accumulators are updated every z steps; t = 1 at the first step.

        mu, nu = those of SM3-I if (t - 1)/z is whole, else mu, nu    sm3-i-delayed.nu
        u = g / (sqrt(nu) + eps)                                      sm3-i-delayed.u
        x = x - eta_l u unless ||u|| < eps_s                          sm3-i-delayed.step

    Alg. 3 leaves mu open at the other steps; it is carried, and nu with it.

    Source: FedAda2, Alg. 3 (L701); the dead zone: Alg. 2, line 11 (L679).
    """
    t = state.t + 1
    mu, nu = accumulate_i(state.mu, g**2, cover) if due(t, z, epoch) else (state.mu, state.nu)
    u = g / (sqrt(nu) + eps)
    x = state.x - eta_l * unless_short(u, u, eps_s)
    return DelayedSm3(x=x, mu=mu, nu=nu, t=t)


@rule
def sm3_ii_delayed(
    state: DelayedSm3,
    g: Vector,
    cover: AnyCover,
    *,
    eta_l: Scalar,
    eps: Scalar,
    z: int = 1,
    epoch: int = 1,
    eps_s: Scalar = 0,
    idle: Idle = Idle.CARRIED,
) -> DelayedSm3:
    """Local step of SM3-II whose accumulators are updated every z steps; t = 1 at the first step.

        mu, nu = those of SM3-II if (t - 1)/z is whole, else mu, nu    sm3-ii-delayed.nu
        u = g / (sqrt(nu) + eps)                                       sm3-ii-delayed.u
        x = x - eta_l u unless ||u|| < eps_s                           sm3-ii-delayed.step
        mu, nu = those of SM3-II if (t - 1)/z is whole, else 0, nu     sm3-ii-delayed.nu [idle=reset]
        mu, nu = those of SM3-II if (t - 1)/z is whole, else mu, min mu   sm3-ii-delayed.nu [idle=recomputed]

    There min mu is, for coordinate j, the least mu(r) over the sets S_r that hold it.

    Source: FedAda2, Alg. 2 (L667) with its update rule (L695), Alg. 4 (L717).
    """
    t = state.t + 1
    mu, nu = accumulate_ii(state.mu, g**2, cover) if due(t, z, epoch) else waiting(state, cover, idle)
    u = g / (sqrt(nu) + eps)
    x = state.x - eta_l * unless_short(u, u, eps_s)
    return DelayedSm3(x=x, mu=mu, nu=nu, t=t)


def waiting(state: DelayedSm3, cover: AnyCover, idle: Idle) -> tuple[Sets, Vector]:
    """Accumulators of SM3-II after a step without an update, in each reading."""
    if idle is Idle.RESET:
        return zeros(state.mu), state.nu
    if idle is Idle.RECOMPUTED:
        return state.mu, cover.least(state.mu)
    return state.mu, state.nu


ROWS = (
    Algorithm(
        id="sm3-i-delayed",
        family=Family.LOCAL_SOLVERS,
        place=18,
        title="SM3-I with delayed updates, over a cover of the coordinates",
        source="FedAda2, Alg. 3 (L701)",
        basis=Basis.READ,
        levels=("client",),
        readings=(
            Reading(name="fedada2", words="mu carried between updates, v_0 in every accumulator, eps outside the root"),
        ),
        run=LocalSolver(rule=sm3_i_delayed, begin=begin),
        costs=Costs(working="2 d + q", note="nu is the least of mu and need not be kept: d + q are enough"),
        traps=(
            phrases.FIRST_OF_EVERY_Z,
            "mu is carried between updates",
            phrases.PRINTED_MU_0,
            phrases.DEAD_ZONE,
        ),
    ),
    Algorithm(
        id="sm3-ii-delayed",
        family=Family.LOCAL_SOLVERS,
        place=19,
        title="SM3-II with delayed updates, over a cover of the coordinates: the client of FedAda2",
        source="FedAda2, Alg. 2 (L667) and Alg. 4 (L717)",
        basis=Basis.READ,
        levels=("client",),
        readings=(
            Reading(
                name="fedada2",
                words="mu and nu carried between updates, v_0 in every accumulator",
                fixes={"idle": "carried"},
            ),
            Reading(
                name="fedada2-literal",
                words="mu cleared at every step: Algs. 2 and 4 as printed (L675, L723; there v_0 = 0), "
                "against the bound of L689",
                fixes={"idle": "reset"},
            ),
            Reading(
                name="memory-frugal",
                words="nu is not stored: at a step that is not due it is the least of mu",
                fixes={"idle": "recomputed"},
            ),
        ),
        run=LocalSolver(rule=sm3_ii_delayed, begin=begin),
        costs=Costs(working="2 d + q", note=f"{phrases.NU_IS_SPARE}, which is another rule"),
        traps=(
            phrases.FIRST_OF_EVERY_Z,
            "the box clears mu at every step, so that with z > 1 nothing accumulates",
            phrases.PRINTED_MU_0,
            "nu must be kept between updates; made anew from mu it is another, larger bound",
        ),
        symbols={"mu": "mu'_t (Alg. 4), mu_k (Alg. 2)", "nu": "nu'_t (Alg. 4), v_k (Alg. 2)"},
    ),
)
