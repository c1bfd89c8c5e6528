"""MIFA: a server that remembers the last gradients of every client."""

from __future__ import annotations

from fedspec.arith import Scalar, Stack, Vector
from fedspec.rules import rule


@rule
def gradients_of(delta: Vector, *, eta_l: Scalar) -> Vector:
    """Sum of a client's gradients, computed from its change.

        G_i = -Delta_i / eta_l                        mifa.g_i

    External: the code of Gu, Huang, Zhang and Huang (2021), hmgxr128/MIFA_code at 8c35102,
    src/trainers/fdu_no_wait.py:38, where it has the other sign.
    """
    return -delta / eta_l


@rule
def remembered_step(x: Vector, g_i: Stack, *, eta_l: Scalar) -> tuple[Vector, Vector]:
    """Step against the mean of the last gradients of all N clients; a client that never sent counts as 0.

        G = 1/N sum_i G_i                             mifa.g
        x = x - eta_l G                               mifa.step

    Returns the model and G.
    External: the same, line 55.
    """
    g = g_i.sum(axis=0) / g_i.shape[0]
    return x - eta_l * g, g
