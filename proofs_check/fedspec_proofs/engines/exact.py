"""Exact instances: rules run on vectors of fractions, so that an equality is checked without a tolerance.

Every random instance comes from a generator that the caller passes in.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Array, Vector

SEED = 20200714


def generator() -> np.random.Generator:
    """Random generator of one proof, with a fixed seed."""
    return np.random.default_rng(SEED)


def number(value: int | str) -> Any:
    """Make a rational number; type checkers see a scalar, as in :data:`fedspec.arith.Scalar`."""
    return Fraction(value)


def vector(*values: int | str | Fraction) -> Vector:
    """Object array of the given rationals, as numbers or strings such as ``"1/3"``."""
    return objects(Fraction(value) for value in values)


def objects(values: Iterable[Any]) -> Vector:
    """Object array of any numbers or forms."""
    return np.array(list(values), dtype=object)


def rationals(
    rng: np.random.Generator, *shape: int, low: int = -8, high: int = 8, denominators: Iterable[int] = (1, 2, 3, 4)
) -> Array:
    """Random rationals: an integer of [low, high] over one of the denominators."""
    choices = list(denominators)
    drawn = (Fraction(int(rng.integers(low, high + 1)), int(rng.choice(choices))) for _ in np.ndindex(*shape))
    return objects(drawn).reshape(shape)


def symmetric_positive(rng: np.random.Generator, d: int) -> Array:
    """A random symmetric positive definite matrix B'B / 4 + I / 2."""
    B = rationals(rng, d, d, low=-2, high=2, denominators=(1, 2))
    H: Array = B.T @ B / 4
    for j in range(d):
        H[j, j] = H[j, j] + Fraction(1, 2)
    return H
