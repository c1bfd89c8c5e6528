"""Toy problems of FedAda2's App. A: one quadratic for all clients, with heavy-tailed noise in its gradient.

    F_i(x, xi_i) = x^2 / 2 + xi_i x,    gradient x + xi_i,    f(x) = x^2 / 2,    x* = 0

Noise is data: one draw for each local step. Client i = 1, 2, ... has Student's t with i + 1 degrees of freedom; the
first has no variance. In the second problem the first client's noise is Cauchy, which has no mean either.

Source: FedAda2, Props. 9 and 10 (L316, L475).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedspec.arith import Array, Vector, sqrt
from fedspec.domains import COUNT, POSITIVE, outside
from fedspec.errors import ParameterError, PlanError
from fedspec.plan import Oracle


def noisy(noise: Sequence[Vector]) -> Oracle:
    """Gradient oracle of a client with noise: x + xi_k at local step k = 0, 1, ...

    Raises:
        PlanError: at a local step for which no noise was given.
    """

    def gradient(k: int, x: Vector) -> Vector:
        if k >= len(noise):
            raise PlanError(f"noise: {len(noise)} draws, and local step {k + 1} is taken; give one draw for each step")
        return x + noise[k]

    return gradient


def student_2(u: Array) -> Array:
    """Quantile of Student's t with two degrees of freedom: xi with P(t_2 <= xi) = u, 0 < u < 1.

        xi = (2u - 1) / sqrt(2 u (1 - u))

    The quantile function is the inverse of u = 1/2 + xi / (2 sqrt(2 + xi^2)).
    """
    return np.asarray((2 * u - 1) / sqrt(2 * u * (1 - u)))


def cauchy(u: Array, *, gamma: float) -> Array:
    """Quantile of the Cauchy distribution of scale gamma: gamma tan(pi (u - 1/2)), 0 < u < 1."""
    return np.asarray(gamma * np.tan(np.pi * (u - 0.5)))


def draw_student(rng: np.random.Generator, nu: int, shape: tuple[int, ...]) -> Array:
    """Draw noise from Student's t with nu degrees of freedom; for nu = 2 by its quantile function.

    Raises:
        ParameterError: nu is not a whole number >= 1.
    """
    if outside(nu, COUNT):
        raise ParameterError(f"nu: got {nu}; degrees of freedom are a whole number >= 1, i + 1 for client i")
    return student_2(_inside(rng, shape)) if nu == 2 else rng.standard_t(nu, size=shape)


def draw_cauchy(rng: np.random.Generator, gamma: float, shape: tuple[int, ...]) -> Array:
    """Draw noise from a Cauchy distribution of scale gamma, which App. A.1 takes below 1/3.

    Raises:
        ParameterError: gamma is not positive and finite.
    """
    if outside(gamma, POSITIVE):
        raise ParameterError(f"gamma: got {gamma}; a scale is positive and finite")
    return cauchy(_inside(rng, shape), gamma=gamma)


def _inside(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Uniform on the midpoints of 2^52 cells: never 0 or 1, where quantiles are infinite."""
    cells: Array = rng.integers(0, 2**52, size=shape)
    return (cells + 0.5) / 2.0**52
