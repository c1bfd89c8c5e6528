"""Oracles that write down what they are asked."""

from __future__ import annotations

from fedspec.arith import Vector
from fedspec.plan import Oracle

Asked = list[tuple[int, Vector, Vector]]
"""Step, point and gradient of each call of an oracle."""


def recorded(oracle: Oracle, asked: Asked) -> Oracle:
    """Oracle that also appends each of its calls to a list."""

    def gradient(k: int, x: Vector) -> Vector:
        asked.append((k, x, oracle(k, x)))
        return asked[-1][2]

    return gradient
