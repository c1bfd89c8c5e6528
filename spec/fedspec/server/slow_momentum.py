"""Slow momentum of SlowMo: a buffer over the sums of the clients' gradients."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.rules import rule
from fedspec.server.momentum import ServerMomentum


@rule
def slow_momentum(state: ServerMomentum, delta: Vector, *, eta_l: Scalar, eta: Scalar, beta: Scalar) -> ServerMomentum:
    """Slow step of SlowMo: -Delta / eta_l enters the buffer v, and the model moves by -eta eta_l v.

        v = beta v - Delta / eta_l                 slowmo.v
        x = x - eta eta_l v                        slowmo.step

    -Delta / eta_l is the old model minus the mean of the new ones, over the rate: with SGD the sum of the mean
    gradients of a round. While eta_l stays, x is FedAvgM's.
    External: Wang, Tantia, Ballas and Rabbat (2020), SlowMo; see the row ``slowmo`` for whose code has it so.
    """
    v = beta * state.v - delta / eta_l
    return ServerMomentum(x=state.x - eta * eta_l * v, v=v)
