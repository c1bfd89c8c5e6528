"""Semidefinite programs, passed to the solver Clarabel directly; a modelling library takes longer to load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FOUND = ("Solved", "AlmostSolved")
"""Solver statuses that count as an answer; the second is less exact, but every answer is rounded and checked."""


@dataclass(frozen=True)
class Linear:
    """Affine function c z + b of a program's unknowns z, or an array of such functions; z is the last axis of c.

    Attributes:
        c: the coefficients c.
        b: the constants b, of the shape of c without its last axis.
    """

    c: Floats
    b: Any = 0.0

    def __add__(self, other: Linear | float) -> Linear:
        other = other if isinstance(other, Linear) else Linear(np.zeros_like(self.c), other)
        return Linear(self.c + other.c, self.b + other.b)

    def __sub__(self, other: Linear | float) -> Linear:
        return self + -1.0 * other

    def __mul__(self, by: float) -> Linear:
        return Linear(self.c * by, self.b * by)

    __radd__, __rmul__ = __add__, __mul__


def unknowns(n: int) -> list[Linear]:
    """List of the n unknowns, as affine functions."""
    return [Linear(row) for row in np.eye(n)]


def symmetric(n: int) -> Floats:
    """Basis of the symmetric n x n matrices, one per entry of a triangle: [n, n, n (n + 1) / 2]."""
    E = np.zeros((n, n, n * (n + 1) // 2))
    for k, (i, j) in enumerate(zip(*np.triu_indices(n), strict=True)):
        E[i, j, k] = E[j, i, k] = 1
    return E


def largest(
    aim: Linear, *, zero: Sequence[Linear] = (), above: Sequence[Linear] = (), semidefinite: Sequence[Linear] = ()
) -> tuple[float, Floats] | None:
    """Maximise a linear function under linear and semidefinite constraints; None if Clarabel finds no solution.

    Args:
        aim: the linear function to maximise.
        zero: expressions that are zero.
        above: expressions that must be >= 0.
        semidefinite: matrices [m, m] that have no negative eigenvalue.
    """
    clarabel: Any = import_module("clarabel")
    sparse: Any = import_module("scipy.sparse")
    n = aim.c.shape[-1]
    rows, constants, cones = [np.zeros((0, n))], [np.zeros(0)], []
    for some, cone in ((zero, clarabel.ZeroConeT), (above, clarabel.NonnegativeConeT)):
        if some:
            rows.append(np.array([one.c for one in some]))
            constants.append(np.array([float(one.b) for one in some]))
            cones.append(cone(len(some)))
    for M in semidefinite:
        m = M.c.shape[0]
        # The upper triangle, column by column, its entries off the diagonal times the root of 2.
        j, i = np.tril_indices(m)
        weight = np.where(i == j, 1.0, np.sqrt(2))
        rows.append(M.c[i, j] * weight[:, None])
        constants.append((M.b + np.zeros((m, m)))[i, j] * weight)
        cones.append(clarabel.PSDTriangleConeT(m))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    A, b = sparse.csc_matrix(-np.concatenate(rows)), np.concatenate(constants)
    solver = clarabel.DefaultSolver(sparse.csc_matrix((n, n)), -aim.c, A, b, cones, settings)
    found = solver.solve()
    if str(found.status).rpartition(".")[2] not in FOUND:
        return None
    z = np.array(found.x)
    return float(aim.c @ z + aim.b), z
