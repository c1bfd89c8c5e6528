"""Server step of FedExP, which goes further along the mean change the less the clients' changes agree."""

from __future__ import annotations

from fedspec.arith import Scalar, Stack, Vector, Weights, maximum, total
from fedspec.rules import rule


@rule
def extrapolated(x: Vector, deltas: Stack, delta: Vector, p: Weights, *, eps: Scalar) -> tuple[Vector, Scalar]:
    """Server step of FedExP from all changes and their mean; return the model and the rate.

        rate = max(1, sum_i p_i ||Delta_i||^2 / (2 (||Delta||^2 + eps)))        fedexp.rate
        x = x + rate Delta                                                      fedexp.step

    With p_i = 1 / M the sum is that of ||Delta_i||^2 over 2 M, as published.
    External: Jhunjhunwala, Wang and Joshi (2023), arXiv 2301.09604; see the row ``fedexp``.
    """
    rate = maximum(total(p @ deltas**2) / (2 * (total(delta**2) + eps)), 1)
    # Some numbers do not take an array to their right.
    return x + delta * rate, rate
