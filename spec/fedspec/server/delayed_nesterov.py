"""Delayed Nesterov: a server that applies every late change at once and updates its momentum at every N-th only."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector, zeros
from fedspec.records import record
from fedspec.rules import rule


@record
class DelayedNesterov:
    """The model, the momentum, and the sum and number of the changes since the last momentum update."""

    x: Vector
    m: Vector
    delta: Vector
    t: int


def init(x: Vector) -> DelayedNesterov:
    """Initial state: no momentum and no change yet."""
    return DelayedNesterov(x=x, m=zeros(x), delta=zeros(x), t=0)


@rule
def between(
    state: DelayedNesterov, delta_i: Vector, *, eta: Scalar, beta: Scalar, c: Scalar, N: int
) -> DelayedNesterov:
    """Server step for a change that isn't the N-th: apply 1/N of the change and the share c of the momentum.

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
    """Server step for every N-th change: update the momentum with the mean of all N changes, then move the model.

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
