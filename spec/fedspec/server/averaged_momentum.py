"""Server momentum as a moving average (FedAvgM of Client-Centric, CC-FedAvgM)."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.rules import rule
from fedspec.server.momentum import ServerMomentum


@rule
def averaged_momentum(state: ServerMomentum, delta: Vector, *, eta: Scalar, beta: Scalar) -> ServerMomentum:
    """Server step with a moving average of the changes.

        v = beta v + (1 - beta) Delta              cc-fedavgm.v
        x = x + eta v                              cc-fedavgm.step

    The paper calls it m. Source: Client-Centric, L107-111 (in words) and L554.
    """
    v = beta * state.v + (1 - beta) * delta
    x = state.x + eta * v
    return ServerMomentum(x=x, v=v)
