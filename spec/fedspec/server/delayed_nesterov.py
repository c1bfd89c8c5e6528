"""Delayed Nesterov: a server that takes every late change at once, and moves its momentum at every N-th only."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector, zeros
from fedspec.records import record
from fedspec.rules import rule


@record
class DelayedNesterov:
    """The model, the momentum, the sum of the changes since the momentum last moved, and how many they are."""

    x: Vector
    m: Vector
    delta: Vector
    t: int


def init(x: Vector) -> DelayedNesterov:
    """No momentum, and no change yet."""
    return DelayedNesterov(x=x, m=zeros(x), delta=zeros(x), t=0)


@rule
def between(
    state: DelayedNesterov, delta_i: Vector, *, eta: Scalar, beta: Scalar, c: Scalar, N: int
) -> DelayedNesterov:
    """A change that is not the N-th: an N-th of it, and as much of the standing momentum as c activates.

        Delta = Delta + Delta_i                            delayed-nesterov.sum
        x = x + eta (c beta m + Delta_i / N)               delayed-nesterov.between

    External: Liu et al. (2024), Algorithm "Delayed Nesterov Update", the branch without a momentum step.
    """
    delta = state.delta + delta_i
    x = state.x + eta * (c * beta * state.m + delta_i / N)
    return DelayedNesterov(x=x, m=state.m, delta=delta, t=state.t + 1)


@rule
def delayed(
    state: DelayedNesterov, delta_i: Vector, *, eta: Scalar, beta: Scalar, c: Scalar, N: int
) -> DelayedNesterov:
    """The N-th change since the momentum last moved: the momentum takes the mean of all N, then the model moves.

        Delta = Delta + Delta_i                            delayed-nesterov.total
        m = beta m + Delta / N                             delayed-nesterov.m
        x = x + eta ((1 - c N + c) beta m + Delta_i / N)   delayed-nesterov.step

    The N changes weigh the old momentum (N - 1) c in all and the new one 1 - (N - 1) c. Delta is empty afterwards.
    External: Liu et al. (2024), Algorithm "Delayed Nesterov Update", the branch with a momentum step.
    """
    delta = state.delta + delta_i
    m = beta * state.m + delta / N
    x = state.x + eta * ((1 - c * N + c) * beta * m + delta_i / N)
    return DelayedNesterov(x=x, m=m, delta=zeros(x), t=0)
