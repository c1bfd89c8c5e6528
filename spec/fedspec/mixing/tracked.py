"""EF21: a server's estimates of its clients' gradients, which clients update by sending differences."""

from __future__ import annotations

from fedspec.arith import Scalar, Stack, Vector
from fedspec.rules import rule


@rule
def unknown(gradient: Vector, g: Vector) -> Vector:
    """Difference between a client's gradient and the server's estimate of it.

        p_i = grad f_i(x) - g_i                       ef21.p_i

    External: the code of Richtarik, Sokolov and Fatkhullin (2021), ``IgorSokoloff/ef21_experiments_source_code``,
    ``Logistic regression/bdfg_distributed_stable.py``, line 59 at 805c9d7.
    """
    return gradient - g


@rule
def learnt(g: Vector, c: Vector) -> Vector:
    """Update the server's estimate of a client's gradient by its message; the client keeps a copy of it.

        g_i = g_i + c_i                               ef21.g_i

    External: the same, line 60.
    """
    return g + c


@rule
def mean_estimate(g_i: Stack) -> Vector:
    """Mean of the server's estimates of all n clients' gradients.

        g = 1/n sum_i g_i                             ef21.g

    External: the same, line 79.
    """
    g: Vector = g_i.sum(axis=0) / g_i.shape[0]
    return g


@rule
def descend(x: Vector, g: Vector, *, eta: Scalar) -> Vector:
    """Server step against the mean of the estimated gradients.

        x = x - eta g                                 ef21.step

    External: the same, line 77.
    """
    return x - eta * g
