"""Linear algebra for every number type; NumPy has it for floats only."""

from __future__ import annotations

import numpy as np
from jaxtyping import Shaped

from fedspec.arith import Array, Vector
from fedspec.errors import ShapeError


def eye(like: Shaped[Array, "d d"]) -> Shaped[Array, "d d"]:
    """The identity matrix in the arithmetic of ``like``."""
    one = like * 0
    for j in range(len(one)):
        one[j, j] = one[j, j] + 1
    return one


def solve(A: Shaped[Array, "d d"], b: Vector) -> Vector:
    """Solve A x = b, by LAPACK for floats and by Gauss-Jordan elimination for exact numbers.

    Raises:
        ShapeError: A is singular, or b has another length.
    """
    if A.shape != (len(b), len(b)):
        raise ShapeError(f"solve: got A {A.shape} and b {b.shape}; A must be square, with a row for each entry of b")
    if A.dtype != object:
        try:
            return np.linalg.solve(A, b)
        except np.linalg.LinAlgError as error:
            raise ShapeError(f"solve: the matrix is singular ({error})") from error
    d = len(b)
    M = np.concatenate([A, b[:, None]], axis=1)
    for j in range(d):
        pivot = next((i for i in range(j, d) if M[i, j] != 0), None)
        if pivot is None:
            raise ShapeError(f"solve: the matrix is singular (column {j} has no pivot)")
        M[[j, pivot]] = M[[pivot, j]]
        M[j] = M[j] / M[j, j]
        for i in range(d):
            if i != j:
                M[i] = M[i] - M[i, j] * M[j]
    return M[:, d]
