"""Gradients that a server remembers of every client: MIFA."""

from __future__ import annotations

from fedspec.arith import Scalar, Stack, Vector
from fedspec.rules import rule


@rule
def gradients_of(delta: Vector, *, eta_l: Scalar) -> Vector:
    """The sum of a client's gradients, from its change.

        G_i = -Delta_i / eta_l                        mifa.g_i

    External: the code of Gu, Huang, Zhang and Huang (2021), hmgxr128/MIFA_code at 8c35102,
    src/trainers/fdu_no_wait.py:38, where it has the other sign.
    """
    return -delta / eta_l


@rule
def mean_of_last(g_i: Stack) -> Vector:
    """The mean of what all N clients sent last; who was never heard counts as 0.

        G = 1/N sum_i G_i                             mifa.g

    External: the same, line 55.
    """
    g: Vector = g_i.sum(axis=0) / g_i.shape[0]
    return g


@rule
def remembered_step(x: Vector, g: Vector, *, eta_l: Scalar) -> Vector:
    """A step of the server against it, in the clients' rate.

        x = x - eta_l G                               mifa.step

    External: the same, line 55.
    """
    return x - eta_l * g
