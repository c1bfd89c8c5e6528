"""Exact matrix arithmetic in scalar loops, for laws only; no rule uses it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from fedspec.arith import Array

Rows: TypeAlias = list[list[Fraction]]


def rows(M: Any) -> Rows:
    """Convert a matrix to rows of fractions."""
    return [[x if isinstance(x, Fraction) else Fraction(float(x)) for x in row] for row in np.asarray(M).tolist()]


def plus(X: Rows, Y: Rows, by: Fraction | int = 1) -> Rows:
    """Return X + by Y."""
    return [[x + by * y for x, y in zip(u, v, strict=True)] for u, v in zip(X, Y, strict=True)]


def times(X: Rows, Y: Rows) -> Rows:
    """Return the matrix product X Y."""
    return [[sum((u[l] * Y[l][k] for l in range(len(Y))), Fraction(0)) for k in range(len(Y[0]))] for u in X]


def rank(X: Rows) -> int:
    """Return the rank of a matrix, by Gaussian elimination."""
    X, found = [row[:] for row in X], 0
    for k in range(len(X[0])):
        pivot = next((i for i in range(found, len(X)) if X[i][k]), None)
        if pivot is None:
            continue
        X[found], X[pivot] = X[pivot], X[found]
        for i in range(found + 1, len(X)):
            by = X[i][k] / X[found][k]
            X[i] = [a - by * b for a, b in zip(X[i], X[found], strict=True)]
        found += 1
    return found


def basis(r: int, i: int) -> tuple[Array, Array]:
    """Return an invertible r x r matrix R for client i and its inverse, both exact: shears and powers of two."""
    R, S = np.eye(r) * 2.0 ** (1 - i % 3), np.eye(r) * 2.0 ** (i % 3 - 1)
    if r > 1:
        shear = np.eye(r)
        shear[0, 1] = i + 1
        back = np.eye(r)
        back[0, 1] = -(i + 1)
        R, S = R @ shear, back @ S
    return R, S
