"""What FedAda2's local solvers share: when a delayed preconditioner is updated, and the dead zone."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector, where_shorter


def due(t: int, z: int, epoch: int = 1) -> bool:
    """Whether step t = 1, 2, ... updates the preconditioner: (t - 1)/z is whole, so t = 1, z + 1, 2z + 1, ...

    With epochs of E > 1 steps the epochs are counted instead: all steps of one update, none of the next z - 1. These
    are the delays of the paper's runs: z = 2 and z = 4 (FedAda2, Fig. 7, L1773).
    """
    return (t - 1) // epoch % z == 0


def updates(t: int, z: int, epoch: int = 1) -> int:
    """The number of updates up to step t: floor((t - 1)/z) + 1; E in every period of z E steps where epochs count."""
    period, step = divmod(t - 1, z * epoch)
    return period * epoch + min(step + 1, epoch)


def unless_short(y: Vector, u: Vector, eps_s: Scalar) -> Vector:
    """The vector y, or 0 where ||u|| < eps_s: the dead zone of the whole step u.

    The papers spare u = 0, where it makes no difference.
    """
    return where_shorter(u, eps_s, y * 0, y)
