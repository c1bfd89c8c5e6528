"""Delayed preconditioner updates, dead zone and warm-up, which FedAda2's clients share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from fedspec.arith import Count, Scalar, Vector, where_shorter
from fedspec.choices import decided
from fedspec.readings import WarmUp


def due(t: Count, z: int, epoch: int = 1) -> bool:
    """True if step t = 1, 2, ... updates the preconditioner: (t - 1)/z is whole, so t = 1, z + 1, 2z + 1, ...

    With epochs of E > 1 steps the epochs are counted instead: an update is due at all steps of one epoch, at none of
    the next z - 1 epochs. These are the delays of the paper's runs: z = 2 and z = 4 (FedAda2, Fig. 7, L1773).
    """
    return decided((t - 1) // epoch % z == 0)


def updates(t: Count, z: int, epoch: int = 1) -> Count:
    """Number of updates up to step t: floor((t - 1)/z) + 1; with epochs of E > 1 steps, E in every z E steps."""
    period, step = divmod(t - 1, z * epoch)
    return period * epoch + (step + 1 if due(t, z, epoch) else epoch)


def warmed(eta_l: Scalar, k: int, warm_up: int, start: WarmUp = WarmUp.FIRST_STEP) -> Scalar:
    """The client rate at local step k = 1, 2, ... of a round: eta_l k / warm_up, and eta_l from step warm_up on.

    The rate rises linearly from 0 to its final value over the first local steps (FedAda2, App. H.2, L1663: 10 of them).
    The print leaves open whether the first step itself is taken at 0. In that reading the rates are those of the step
    before, and :func:`held` takes the first step back: no rule takes a rate of 0. A client's optimiser begins afresh in
    every round, and so does this.
    """
    if start is WarmUp.ZERO:
        k = max(k - 1, 1)
    return eta_l if k >= warm_up else eta_l * k / warm_up


S = TypeVar("S", bound=Any)


def held(before: S, after: S, k: int, start: WarmUp) -> S:
    """Return the state after local step k = 1, 2, ...; if the first step's rate is 0, it keeps the old model."""
    return replace(after, x=before.x) if start is WarmUp.ZERO and k == 1 else after


def unless_short(y: Vector, u: Vector, eps_s: Scalar) -> Vector:
    """Return y, or 0 if ||u|| < eps_s: the dead zone of the whole step u.

    The papers spare u = 0, where it makes no difference.
    """
    return where_shorter(u, eps_s, y * 0, y)
