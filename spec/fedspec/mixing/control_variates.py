"""Control variates: corrections that clients and server keep, so that local steps point along the mean direction.

The client steps that use them are in :mod:`fedspec.client.controlled`.
"""

from __future__ import annotations

from collections.abc import Sequence

from fedspec.arith import Scalar, Shared, Stack, Vector, Weights, numbers
from fedspec.errors import PlanError
from fedspec.mixing.weighted import check_parts, check_shares
from fedspec.readings import Control, Divisor, Stored
from fedspec.rules import rule


@rule
def client_control(
    c_i: Vector,
    c: Shared,
    delta: Vector,
    g: Vector,
    *,
    steps: int,
    eta_l: Scalar,
    control: Control = Control.MEAN_GRADIENT,
) -> Vector:
    """Control variate of a SCAFFOLD client: its mean uncorrected gradient of the round, or its gradient at x.

        c_i = c_i - c - Delta_i / (eta_l tau_i)    scaffold.c_i
        c_i = g_i(x)                               scaffold.c_i [control=gradient-at-x]

    Option I keeps the gradient at the model that the round began with.
    External: Karimireddy et al. (2020), Algorithm 1, line 12, with Delta_i = y - x.
    """
    return c_i - c - delta / (eta_l * steps) if control is Control.MEAN_GRADIENT else g


@rule
def server_control(c: Vector, changes: Stack, p: Weights) -> Vector:
    """Update SCAFFOLD's server control variate, the mean over all clients, by the participants' changes.

        c = c + sum over S of q_i (c_i^+ - c_i)    scaffold.c

    Q_i = 1/N over all N clients, also of those that sit out, so that those of S sum to |S|/N; or n_i over the examples
    of all clients. External: Karimireddy et al. (2020), Algorithm 1, line 17: |S|/N times the mean over S.

    Raises:
        WeightError: a weight p is negative, or their sum exceeds one.
    """
    check_parts(p)
    change: Vector = p @ changes
    return c + change


@rule
def drift_controls(
    v: Stack, X: Stack, x: Vector, *, steps: Sequence[int], eta_l: Scalar, divisor: Divisor = Divisor.OWN_STEPS
) -> Stack:
    """Control variates of VRL-SGD's clients; row i of X is client i's model after its local steps, x their mean.

        v_i = v_i + (x - x_i) / (eta_l tau_i)      vrl-sgd.v_i
        v_i = v_i + (x - x_i) / (eta_l mean tau_j)  vrl-sgd.v_i [divisor=mean-steps]

    Raises:
        PlanError: the numbers of steps and the clients differ in number.

    The published algorithm has one tau for everybody.
    External: Liang et al. (2019), Algorithm 1; FedNova, L78, puts tau_i for tau.
    """
    if len(steps) != len(X):
        raise PlanError(f"steps: {len(steps)} step counts for {len(X)} clients; give one for each")
    tau = numbers(steps, x)
    if divisor is Divisor.MEAN_STEPS:
        tau = tau * 0 + sum(tau) / len(steps)
    return v + (x - X) / (eta_l * tau[:, None])


@rule
def skipped_control(h: Stack, X: Stack, x: Vector, *, eta_l: Scalar, chance: Scalar) -> Stack:
    """Control variates of Scaffnew's clients; row i of X is client i's model after its local steps, x their mean.

        h_i = h_i + p / eta_l (x - x_i)            scaffnew.h_i

    P is the probability with which clients communicate after a step. External: Mishchenko et al. (2022), see the row.
    """
    return h + chance / eta_l * (x - X)


@rule
def cross_client(d: Stack, p: Weights) -> Stack:
    """Correction of each client's gradients: all clients' mean direction in the last round minus the client's own.

        c_i = sum_j p_j d_j - d_i                  fednova-vr.c_i

    Raises:
        WeightError: the weights p don't sum to one.

    Source: FedNova, L204; Alg. 2, line 5 (L977). They sum to zero with weights p_i.
    """
    check_shares(p)
    return p @ d - d


@rule
def stored_direction(d: Vector, c_i: Vector, *, stored: Stored = Stored.UNCORRECTED) -> Vector:
    """Direction that a client stores for the next round's correction, from the direction in which it moved.

        d_i = d_i - c_i                            fednova-vr.d
        d_i = (x - x_i) / (eta_l ||a_i||_1)        fednova-vr.d [stored=corrected]

    Every linear solver adds ||a_i||_1 times c_i to its sum of gradients, so that this is the mean of the gradients
    without the correction. Alg. 2 keeps d_i itself. Source: FedNova, L204 and eq. (12); Alg. 2, line 13 (L985).
    """
    return d - c_i if stored is Stored.UNCORRECTED else d
