"""Local steps of Mime: a base optimiser whose state, the server's momentum, stays fixed during a round."""

from __future__ import annotations

from fedspec.arith import Scalar, Shared, Vector
from fedspec.readings import MomentumSum
from fedspec.rules import rule


@rule
def mimicked_sgd(
    x: Vector,
    g: Vector,
    m: Shared,
    *,
    eta_l: Scalar,
    beta: Scalar,
    momentum_sum: MomentumSum = MomentumSum.AVERAGE,
) -> Vector:
    """Local step of MimeLite: a momentum step with the server's buffer, which the step doesn't update.

        y = y - eta_l ((1 - beta) g + beta m)      mime-lite.y
        y = y - eta_l (g + beta m)                 mime-lite.y [momentum_sum=sum]

    External: Karimireddy et al. (2020), Mime; see the row ``mime-lite`` for whose code has it so.
    """
    enters = g if momentum_sum is MomentumSum.SUM else (1 - beta) * g
    return x - eta_l * (enters + beta * m)


@rule
def mimed_correction(g: Vector, g_x: Shared) -> Vector:
    """Correction that a local step of Mime adds to its gradient: g is its batch's gradient at the round's first model.

        c_i = g_x - g                              mime.c_i

    g_x is the mean gradient of the round's clients at that model.
    External: Karimireddy et al. (2020), Mime; see the row ``mime`` for whose code has it so.
    """
    return g_x - g
