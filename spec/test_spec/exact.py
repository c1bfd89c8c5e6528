"""Vectors and matrices of fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Array


def vec(*xs: Any) -> Array:
    """A vector of fractions."""
    return np.array([Fraction(x) for x in xs], dtype=object)


def matrix(*rows: Any) -> Array:
    """A matrix of fractions, row by row."""
    return np.array([[Fraction(x) for x in row] for row in rows], dtype=object)
