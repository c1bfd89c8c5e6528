"""What FedAda2's local solvers share: when a delayed preconditioner is updated, and the dead zone."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector, where_shorter


def due(t: int, z: int) -> bool:
    """Whether step t = 1, 2, ... updates the preconditioner: (t - 1)/z is whole, so t = 1, z + 1, 2z + 1, ..."""
    return (t - 1) % z == 0


def updates(t: int, z: int) -> int:
    """The number of updates up to step t: floor((t - 1)/z) + 1."""
    return (t - 1) // z + 1


def unless_short(y: Vector, u: Vector, eps_s: Scalar) -> Vector:
    """The vector y, or 0 where ||u|| < eps_s: the dead zone of the whole step u.

    The papers spare u = 0, where it makes no difference.
    """
    return where_shorter(u, eps_s, y * 0, y)
