"""Gradient tracking: clients that mix what they know of the mean gradient, as they mix their models.

Row i of every stack is client i's. External to the five papers.
"""

from __future__ import annotations

from fedspec.arith import Mixing, Scalar, Stack
from fedspec.mixing.gossip import check_mixing
from fedspec.readings import Tracking
from fedspec.rules import rule


@rule
def along_tracker(X: Stack, Y: Stack, W: Mixing, *, eta_l: Scalar, tracking: Tracking = Tracking.DIGING) -> Stack:
    """One step against what each client knows of the mean gradient.

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
def tracker(Y: Stack, before: Stack, after: Stack, W: Mixing, *, tracking: Tracking = Tracking.DIGING) -> Stack:
    """What each client knows of the mean gradient, when its own has changed; the sum stays that of the gradients.

        Y = W Y + G(X) - G(X_before)               diging.Y
        Y = W (Y + G(X) - G(X_before))             diging.Y [tracking=atc]

    Raises:
        MixingError: W is not doubly stochastic.

    External: the same, line 346.
    """
    check_mixing(W)
    if tracking is Tracking.ATC:
        combined: Stack = W @ (Y + after - before)
        return combined
    return W @ Y + after - before
