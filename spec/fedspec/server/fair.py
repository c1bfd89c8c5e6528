"""The server of q-FedAvg: one step, by the curvature of all."""

from __future__ import annotations

from fedspec.arith import Column, Stack, Vector
from fedspec.rules import rule


@rule
def fair_step(x: Vector, d_i: Stack, b_i: Column) -> Vector:
    """The sum of all steps over the sum of all curvatures.

        x = x - sum_i d_i / sum_i b_i          q-fedavg.step

    External: Li, Sanjabi, Beirami and Smith (2020), Algorithm 2.
    """
    x = x - d_i.sum(axis=0) / b_i.sum(axis=0)
    return x
