"""The server that adds the aggregate to its model."""

from __future__ import annotations

from fedspec.arith import Scalar, Vector
from fedspec.rules import rule


@rule
def average(x: Vector, delta: Vector, *, eta: Scalar = 1) -> Vector:
    """Server step of FedAvg; the published algorithm has eta = 1.

        x = x + eta Delta                          fedavg.step

    Source: FedNova, eq. (2) (L52); FedAda2, baseline "FedAvg".
    """
    return x + eta * delta
