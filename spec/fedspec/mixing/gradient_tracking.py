"""Gradient tracking: clients mix their estimates of the mean gradient as they mix their models.

Row i of every stack is client i's. External to the five papers.
"""

from __future__ import annotations

from fedspec.arith import Mixing, Scalar, Stack
from fedspec.mixing.gossip import check_mixing
from fedspec.readings import Tracking
from fedspec.rules import rule


@rule
def along_tracker(X: Stack, Y: Stack, W: Mixing, *, eta_l: Scalar, tracking: Tracking = Tracking.DIGING) -> Stack:
    """Step of each client against its estimate of the mean gradient.

        X = W X - eta_l Y                          diging.step
        X = W (X - eta_l Y)                        diging.step [tracking=semi-atc]
        X = W (X - eta_l Y)                        diging.step [tracking=atc]

    Raises:
        MixingError: W is not doubly stochastic.

    External: Nedic, Olshevsky and Shi (2017), Algorithm 1, as ``Bluefog-Lib/bluefog`` has it,
    ``examples/pytorch_optimization.py``, line 341 at 9ee376a.
    """
    check_mixing(W)
    if tracking is Tracking.DIGING:
        return W @ X - eta_l * Y
    return W @ (X - eta_l * Y)


@rule
def tracker(Y: Stack, G_before: Stack, G: Stack, W: Mixing, *, tracking: Tracking = Tracking.DIGING) -> Stack:
    """Update each client's estimate of the mean gradient; the estimates keep the same sum as the gradients.

        Y = W Y + G(X) - G(X_before)               diging.Y
        Y = W (Y + G(X) - G(X_before))             diging.Y [tracking=atc]

    Raises:
        MixingError: W is not doubly stochastic.

    External: the same, line 346.
    """
    check_mixing(W)
    if tracking is Tracking.ATC:
        combined: Stack = W @ (Y + G - G_before)
        return combined
    return W @ Y + G - G_before


@rule
def towards_mean(Z: Stack, G: Stack, C: Stack, *, eta_l: Scalar) -> Stack:
    """Local step of K-GT, whose gradient is corrected towards the mean gradient.

        Z = Z - eta_l (G(Z) + C)                   k-gt.Z

    External: Liu, Lin, Koloskova and Stich (2024), as ``OscarYau525/FSPDA`` has it, ``pcode/optim/k_gt.py``, lines
    132-140 at 0808887.
    """
    return Z - eta_l * (G + C)


@rule
def mean_direction(X: Stack, Z: Stack, *, steps: int, eta_l: Scalar) -> Stack:
    """Mean direction of each client's local steps, that is, the mean of its corrected gradients.

        V = (X - Z) / (eta_l tau)                  k-gt.V

    External: the same, line 149.
    """
    return (X - Z) / (eta_l * steps)


@rule
def correction(C: Stack, V: Stack, W: Mixing) -> Stack:
    """Update the corrections that clients add to their gradients; the corrections keep their sum, which is 0.

        C = C - V + W V                            k-gt.C

    Raises:
        MixingError: W is not doubly stochastic.

    External: the same, line 161.
    """
    check_mixing(W)
    corrected: Stack = C - V + W @ V
    return corrected


@rule
def along_directions(X: Stack, V: Stack, W: Mixing, *, steps: int, eta_l: Scalar, eta: Scalar) -> Stack:
    """Models after an exchange: each model moves along its mean direction, then the clients mix them.

        X = W (X - eta eta_l tau V)                k-gt.step

    Raises:
        MixingError: W is not doubly stochastic.

    External: the same, line 165.
    """
    check_mixing(W)
    mixed: Stack = W @ (X - eta * eta_l * steps * V)
    return mixed
