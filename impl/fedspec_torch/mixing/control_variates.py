"""Control variates: what clients and server keep of a round, so that the next steps point where the mean of all does.

The client steps that use them are in :mod:`fedspec.client.controlled`.
"""

from __future__ import annotations

from collections.abc import Sequence

from fedspec.readings import Control, Divisor, Stored
from fedspec_torch.arith import Scalar, Stack, Vector, Weights, column, on_stacks


@on_stacks
def client_control(
    c_i: Stack,
    c: Stack,
    delta: Stack,
    g: Stack,
    *,
    steps: Sequence[int],
    eta_l: Scalar,
    control: Control = Control.MEAN_GRADIENT,
) -> Stack:
    """The control variates that SCAFFOLD's clients keep: their mean uncorrected gradients of the round.

        c_i = c_i - c - Delta_i / (eta_l tau_i)    scaffold.c_i

    Option I keeps g, the gradients at the model that the round began with, instead.

    External: Karimireddy et al. (2020), Algorithm 1, line 12, with Delta_i = y - x.
    """
    return c_i - c - delta / (eta_l * column(steps, c_i)) if control is Control.MEAN_GRADIENT else g


def server_control(c: Vector, changes: Stack, p: Weights) -> Vector:
    """SCAFFOLD's server keeps the mean of all clients' control variates, whoever takes part.

        c = c + sum over S of p_i (c_i^+ - c_i)    scaffold.c

    The p_i are those of all clients, also of those that sit out.

    External: Karimireddy et al. (2020), Algorithm 1, line 17: |S|/N times the mean over S.
    """
    return c + p @ changes


def drift_controls(
    v: Stack, X: Stack, x: Vector, *, steps: Sequence[int], eta_l: Scalar, divisor: Divisor = Divisor.OWN_STEPS
) -> Stack:
    """What VRL-SGD's clients keep; row i of X is where client i's local steps ended, x the mean of these rows.

        v_i = v_i + (x - x_i) / (eta_l tau_i)      vrl-sgd.v_i

    The other reading divides by the mean of all tau_i.

    External: Liang et al. (2019), Algorithm 1; FedNova, L78, puts tau_i for tau.
    """
    tau = [sum(steps) / len(steps)] * len(steps) if divisor is Divisor.MEAN_STEPS else steps
    return v + (x - X) / (eta_l * column(tau, X))


def cross_client(d: Stack, p: Weights) -> Stack:
    """The correction of every client's gradients: everybody's mean direction of the round before, less its own.

        c_i = sum_j p_j d_j - d_i                  fednova-vr.c_i

    Source: FedNova, L204; Alg. 2, line 5 (L977).
    """
    return p @ d - d


@on_stacks
def stored_direction(d: Stack, c_i: Stack, *, stored: Stored = Stored.UNCORRECTED) -> Stack:
    """The directions that clients keep for the next round's correction, from those that they have moved along.

        d_i = d_i - c_i                            fednova-vr.d

    Alg. 2 keeps d_i itself.

    Source: FedNova, L204 and eq. (12); Alg. 2, line 13 (L985).
    """
    return d - c_i if stored is Stored.UNCORRECTED else d
