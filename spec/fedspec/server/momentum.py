"""Server momentum (FedAvgM)."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector, zeros
from fedspec.readings import MomentumForm
from fedspec.records import record
from fedspec.rules import rule


@record
class ServerMomentum:
    """The server's model and its momentum buffer, which lives from round to round."""

    x: Vector
    v: Vector


def init(x: Vector) -> ServerMomentum:
    """Initial state: a momentum buffer of zeros."""
    return ServerMomentum(x=x, v=zeros(x))


@rule
def server_momentum(
    state: ServerMomentum,
    delta: Vector,
    *,
    eta: Scalar,
    beta: Scalar,
    momentum: MomentumForm = MomentumForm.HEAVY_BALL,
) -> ServerMomentum:
    """Server step with momentum.

        v = beta v + Delta                         fedavgm.v
        x = x + eta v                              fedavgm.step
        x = x + eta (Delta + beta v)               fedavgm.step [momentum=nesterov]

    Source: FedNova, L204 and L244 (in words); external: Hsu, Qi and Brown (2019).
    """
    v = beta * state.v + delta
    step = v if momentum is MomentumForm.HEAVY_BALL else delta + beta * v
    x = state.x + eta * step
    return ServerMomentum(x=x, v=v)
