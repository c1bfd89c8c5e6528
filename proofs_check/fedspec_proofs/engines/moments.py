"""Exact means and covariances of a linear recursion with noise, in place of Monte Carlo estimates.

The recursion is read off the rule: it is run at zero, at every basis vector of the model and at every basis vector of
the noise. That it is affine at all is checked at another point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec.arith import Array, Vector
from fedspec_proofs.engines import exact


@dataclass(frozen=True)
class Affine:
    """Coefficients of the affine recursion x' = M x + b + N xi with noise xi."""

    M: Array
    b: Vector
    N: Array


@dataclass(frozen=True)
class Moments:
    """Mean and covariance of the model x."""

    mean: Vector
    covariance: Array


def affine(step: Callable[[Vector, Vector], Vector], d: int, noises: int) -> Affine:
    """Determine the affine recursion of ``step(x, xi)`` by running it at zero and at basis vectors.

    Raises:
        ValueError: the step isn't affine in the model and the noise.
    """
    zero, calm = exact.vector(*[0] * d), exact.vector(*[0] * noises)

    def basis(n: int, j: int) -> Vector:
        return exact.vector(*(int(k == j) for k in range(n)))

    b = step(zero, calm)
    M = np.stack([step(basis(d, j), calm) - b for j in range(d)], axis=1)
    # Without noise the exact zeros of an empty product, where NumPy's default would make floats.
    none = np.empty((d, 0), dtype=object)
    N = np.stack([step(zero, basis(noises, j)) - b for j in range(noises)], axis=1) if noises else none
    x, xi = exact.vector(*(3 * j + 2 for j in range(d))), exact.vector(*(5 - 2 * j for j in range(noises)))
    if (step(x, xi) != M @ x + b + (N @ xi if noises else 0)).any():
        raise ValueError("affine: the step is not affine in the model and the noise")
    return Affine(M, b, N)


def start(x: Vector) -> Moments:
    """Moments of a deterministic model: its value, with covariance zero."""
    return Moments(x, np.outer(x, x) * 0)


def push(a: Affine, now: Moments, variance: Any) -> Moments:
    """The moments after one step with uncorrelated noise of mean zero and the given variance in every coordinate."""
    return Moments(a.M @ now.mean + a.b, a.M @ now.covariance @ a.M.T + variance * (a.N @ a.N.T))


def second_moment(now: Moments, A: Array, c: Vector) -> Any:
    """Second moment E |A x + c|^2."""
    centre = A @ now.mean + c
    return centre @ centre + np.trace(A @ now.covariance @ A.T)
