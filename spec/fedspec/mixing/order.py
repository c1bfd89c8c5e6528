"""Order statistics of the clients' changes, coordinate by coordinate."""

from __future__ import annotations

from math import floor

from fedspec.arith import Scalar, Stack, Vector, ascending
from fedspec.errors import PlanError
from fedspec.rules import rule


@rule
def coordinate_median(deltas: Stack) -> Vector:
    """Coordinate-wise median of the M changes; for even M, the mean of the two middle values.

        Delta = (Delta_(floor((M + 1) / 2)) + Delta_(floor(M / 2) + 1)) / 2        median.delta

    Delta_(k) is the k-th smallest.
    External: Yin et al. (2018), arXiv 1803.01498, as flwr 1.41.0 and byzfl 0.0.11 compute it.
    """
    M = deltas.shape[0]
    ordered = ascending(deltas)
    delta: Vector = (ordered[(M - 1) // 2] + ordered[M // 2]) / 2
    return delta


@rule
def lower_median(deltas: Stack) -> Vector:
    """Coordinate-wise median of the M changes; for even M, the smaller of the two middle values.

        Delta = Delta_(floor((M + 1) / 2))         median.delta [middle=lower]

    External: what ``torch.median`` gives.
    """
    M = deltas.shape[0]
    ordered = ascending(deltas)
    delta: Vector = ordered[(M - 1) // 2]
    return delta


def left_out(trim: Scalar, clients: int) -> int:
    """Number of values trimmed at either end: b = floor(trim M), with the product rounded in its number type."""
    return floor(trim * clients)


@rule
def trimmed_mean(deltas: Stack, *, b: int) -> Vector:
    """Coordinate-wise mean of the M changes without the b largest and the b smallest values.

        Delta = sum_(k = b + 1 .. M - b) Delta_(k) / (M - 2 b)         trimmed-mean.delta

    Delta_(k) is the k-th smallest; b = floor(trim M).

    Raises:
        PlanError: 2 b is M or more, so that no value is left.

    External: Yin et al. (2018), arXiv 1803.01498, as flwr 1.41.0 and byzfl 0.0.11 compute it.
    """
    M = deltas.shape[0]
    if not 2 * b < M:
        raise PlanError(f"b: {b} of {M} changes are left out at either end, so none is left; choose b < M / 2")
    kept = ascending(deltas)[b : M - b]
    delta: Vector = kept.sum(axis=0) / (M - 2 * b)
    return delta
