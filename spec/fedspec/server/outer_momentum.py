"""The outer optimiser of DiLoCo: Nesterov's momentum on the mean change of a round."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.readings import MomentumForm, MomentumSum, Rated
from fedspec.rules import rule
from fedspec.server.momentum import ServerMomentum


@rule
def outer_momentum(
    state: ServerMomentum,
    delta: Vector,
    *,
    eta: Scalar,
    beta: Scalar,
    momentum: MomentumForm = MomentumForm.NESTEROV,
    momentum_sum: MomentumSum = MomentumSum.SUM,
    rated: Rated = Rated.STEP,
) -> ServerMomentum:
    """Outer step of DiLoCo: a step of torch's SGD with nesterov = True along the gradient -Delta.

        v = beta v + Delta                                   diloco.v
        x = x + eta (Delta + beta v)                         diloco.step

    Other public codes step along the buffer, average in it, or have the rate inside it:

        x = x + eta v                                        diloco.step [momentum=heavy-ball]
        v = beta v + (1 - beta) Delta                        diloco.v [momentum_sum=average]
        v = beta v + eta Delta                               diloco.v [rated=buffer]
        x = x + eta Delta + beta v                           diloco.step [rated=buffer]
        x = x + v                                            diloco.step [momentum=heavy-ball, rated=buffer]
        v = beta v + (1 - beta) eta Delta                    diloco.v [momentum_sum=average, rated=buffer]

    Delta points downhill: DiLoCo's outer gradient is -Delta, old model minus new. With a rate that stays the forms
    with the rate inside and outside have the same models, and Nesterov's are those of FedMom.
    External: no box prints the recursion; the row says whose code does.
    """
    enters = eta * delta if rated is Rated.BUFFER else delta
    v = beta * state.v + (enters if momentum_sum is MomentumSum.SUM else (1 - beta) * enters)
    step = v if momentum is MomentumForm.HEAVY_BALL else enters + beta * v
    x = state.x + (step if rated is Rated.BUFFER else eta * step)
    return ServerMomentum(x=x, v=v)
