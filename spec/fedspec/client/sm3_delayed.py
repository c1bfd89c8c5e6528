"""SM3 with delayed updates, the local solver of FedAda2, with a dead zone."""

from __future__ import annotations

from dataclasses import dataclass

from fedspec.arith import Scalar, Sets, Vector, constant, sqrt, zeros
from fedspec.client.delay import due, unless_short
from fedspec.client.sm3 import accumulate_i, accumulate_ii
from fedspec.covers import AnyCover
from fedspec.readings import Idle
from fedspec.rules import rule


@dataclass(frozen=True)
class DelayedSm3:
    """A local model, the accumulators mu (one for each set), the bounds nu of the last step and the steps taken."""

    x: Vector
    mu: Sets
    nu: Vector
    t: int


def begin(x: Vector, cover: AnyCover, *, v0: Scalar = 0) -> DelayedSm3:
    """The state at the start of a round: v_0 in every accumulator, 0 by default; the first step sets nu."""
    return DelayedSm3(x=x, mu=constant(v0, x, cover.q), nu=zeros(x), t=0)


@rule
def sm3_i_delayed(
    state: DelayedSm3, g: Vector, cover: AnyCover, *, eta_l: Scalar, eps: Scalar, z: int = 1, eps_s: Scalar = 0
) -> DelayedSm3:
    """One local step of SM3-I whose accumulators are updated every z steps; t = 1 at the first.

        mu, nu = those of SM3-I if (t - 1)/z is whole, else mu, nu    sm3-i-delayed.nu
        u = g / (sqrt(nu) + eps)                                      sm3-i-delayed.u
        x = x - eta_l u unless ||u|| < eps_s                          sm3-i-delayed.step

    Alg. 3 leaves mu open at the other steps; it is carried, and nu with it.

    Source: FedAda2, Alg. 3 (L701); the dead zone: Alg. 2, line 11 (L679).
    """
    t = state.t + 1
    mu, nu = accumulate_i(state.mu, g**2, cover) if due(t, z) else (state.mu, state.nu)
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
    eps_s: Scalar = 0,
    idle: Idle = Idle.CARRIED,
) -> DelayedSm3:
    """One local step of SM3-II whose accumulators are updated every z steps; t = 1 at the first.

        mu, nu = those of SM3-II if (t - 1)/z is whole, else mu, nu    sm3-ii-delayed.nu
        u = g / (sqrt(nu) + eps)                                       sm3-ii-delayed.u
        x = x - eta_l u unless ||u|| < eps_s                           sm3-ii-delayed.step

    ``Idle`` says what else the other steps may hold.

    Source: FedAda2, Alg. 2 (L667) with its update rule (L695), Alg. 4 (L717).
    """
    t = state.t + 1
    mu, nu = accumulate_ii(state.mu, g**2, cover) if due(t, z) else waiting(state, cover, idle)
    u = g / (sqrt(nu) + eps)
    x = state.x - eta_l * unless_short(u, u, eps_s)
    return DelayedSm3(x=x, mu=mu, nu=nu, t=t)


def waiting(state: DelayedSm3, cover: AnyCover, idle: Idle) -> tuple[Sets, Vector]:
    """What SM3-II holds at a step without an update, in each reading."""
    if idle is Idle.RESET:
        return zeros(state.mu), state.nu
    if idle is Idle.RECOMPUTED:
        return state.mu, cover.least(state.mu)
    return state.mu, state.nu
