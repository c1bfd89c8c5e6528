"""Server momentum on top of FedNova."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.readings import BufferHolds
from fedspec.rules import rule
from fedspec.server.momentum import ServerMomentum


@rule
def nova_momentum(
    state: ServerMomentum,
    delta: Vector,
    *,
    eta_l: Scalar,
    beta: Scalar,
    buffer_holds: BufferHolds = BufferHolds.CHANGES,
) -> ServerMomentum:
    """Server step with momentum over the change that FedNova would make.

        v = beta v + Delta                         fednova-momentum.v
        v = beta v - Delta / eta_l                 fednova-momentum.v [buffer_holds=gradients]
        x = x + v                                  fednova-momentum.step
        x = x - eta_l v                            fednova-momentum.step [buffer_holds=gradients]

    SlowMo's buffer holds gradients: the same models while eta_l stays.
    Source: FedNova, L204 and L244 (in words); external: Wang et al. (2020).
    """
    if buffer_holds is BufferHolds.CHANGES:
        v = beta * state.v + delta
        return ServerMomentum(x=state.x + v, v=v)
    v = beta * state.v - delta / eta_l
    return ServerMomentum(x=state.x - eta_l * v, v=v)
