"""Krum and Multi-Krum, which select the clients' changes with the nearest neighbours."""

from __future__ import annotations

from typing import Any

from fedspec.arith import Column, Stack, Vector, Weights, ascending, foremost, norm, stack, total
from fedspec.readings import Distance, Neighbours
from fedspec.rules import rule


def how_many(f: int, clients: int, which: Neighbours = Neighbours.PUBLISHED) -> int:
    """Number of other changes whose distances a score sums: n - f - 2, or n - f - 1; the paper needs n > 2 f + 2."""
    return max(1, clients - f - (2 if which is Neighbours.PUBLISHED else 1))


@rule
def krum_scores(
    deltas: Stack,
    *,
    f: int,
    neighbours: Neighbours = Neighbours.PUBLISHED,
    distance: Distance = Distance.SQUARED,
) -> Column:
    """Krum score of each of the n changes: the sum of its distances to the nearest other changes.

        s_i = sum_(k = 1 .. max(1, n - f - 2)) ||Delta_i - Delta_(i, k)||^2  krum.s
        s_i = sum_(k = 1 .. max(1, n - f - 1)) ||Delta_i - Delta_(i, k)||^2  krum.s [neighbours=n-f-1]
        s_i = sum_(k = 1 .. max(1, n - f - 2)) ||Delta_i - Delta_(i, k)||    krum.s [distance=plain]
        s_i = sum_(k = 1 .. max(1, n - f - 1)) ||Delta_i - Delta_(i, k)||    krum.s [neighbours=n-f-1, distance=plain]

    Delta_(i, k) is the k-th nearest to Delta_i of the others. One that is alone has 0.
    External: Blanchard et al. (2017), arXiv 1703.02757; n - f - 2 and squares as in flwr and FedML.
    """
    N = how_many(f, deltas.shape[0], neighbours)
    squared = distance is Distance.SQUARED
    apart: list[Any] = [total((deltas - delta) ** 2) if squared else norm(deltas - delta) for delta in deltas]
    return stack([ascending(u)[1 : N + 1].sum(axis=0) for u in apart])


@rule
def krum(deltas: Stack, s: Column) -> Vector:
    """Change with the smallest score; of equal scores, the first.

        Delta = Delta_i, i = min argmin_j s_j              krum.delta

    External: Blanchard et al. (2017), arXiv 1703.02757.
    """
    delta: Vector = foremost(s, deltas, 1)[0]
    return delta


@rule
def multi_krum(deltas: Stack, s: Column, p: Weights, *, keep: int) -> Vector:
    """Mean of the ``keep`` changes with the smallest scores, of equal scores the first; of fewer changes, all.

        Delta = sum_(i of the m smallest s_i) p_i Delta_i / sum_(the same i) p_i        multi-krum.delta

    m = min(keep, n); with p_i = 1 / n this is the plain mean, as published.
    External: Blanchard et al. (2017), arXiv 1703.02757.
    """
    kept, weights = foremost(s, deltas, keep), foremost(s, p[:, None], keep)
    delta: Vector = (weights * kept).sum(axis=0) / weights.sum(axis=0)
    return delta
