"""Servers that read every change of a round: their move, found in another way than by sorting or by sums of squares.

The k-th smallest of some values is the least that a subset of k of them has for its largest. The mean of squared
lengths is the squared length of the mean and what the vectors are apart, two by two: the sum over i < j of
p_i p_j ||Delta_i - Delta_j||^2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import floor
from typing import Any

from fedspec.arith import Array, maximum, minimum
from fedspec_suite.laws.closed_forms.adaptive import Numbers, Options
from fedspec_suite.laws.closed_forms.sums import largest, total

Move = Callable[[Sequence[Any], Sequence[Array], Numbers, Options], Array]
"""The server's move, from the shares p_i and the changes of one round."""


def smallest_but(k: int, rows: Sequence[Array]) -> Array:
    """In every coordinate the value that k - 1 others stand before."""
    found: Array = reduce(minimum, (largest(some) for some in combinations(rows, k)))
    return found


def middle(rows: Sequence[Array], o: Options) -> Array:
    """The median in every coordinate."""
    M = len(rows)
    lower = smallest_but((M + 1) // 2, rows)
    if M % 2 or o["middle"] == "lower":
        return lower
    halved: Array = (lower + smallest_but(M // 2 + 1, rows)) * Fraction(1, 2)
    return halved


def without_ends(rows: Sequence[Array], h: Numbers) -> Array:
    """The mean in every coordinate of what stands neither among the first nor among the last."""
    M = len(rows)
    b = floor(h["trim"] * M)
    mean: Array = total(smallest_but(k, rows) for k in range(b + 1, M - b + 1)) / (M - 2 * b)
    return mean


def squared(x: Array) -> Any:
    """The squared length."""
    return total(a * a for a in x)


def further(p: Sequence[Any], rows: Sequence[Array], h: Numbers) -> Array:
    """The mean, as many times as the changes are long beside what they are apart, but at least once."""
    mean = total(p_i * row for p_i, row in zip(p, rows, strict=True))
    pairs = combinations(zip(p, rows, strict=True), 2)
    size = squared(mean)
    apart = total([0 * size, *(p_i * p_j * squared(a - b) for (p_i, a), (p_j, b) in pairs)])
    move: Array = maximum((size + apart) / (2 * size + 2 * h["eps"]), 1) * mean
    return move


MOVES: dict[str, Move] = {
    "fedexp": lambda p, rows, h, o: further(p, rows, h),
    "median": lambda p, rows, h, o: h["eta"] * middle(rows, o),
    "trimmed-mean": lambda p, rows, h, o: h["eta"] * without_ends(rows, h),
}
"""By the algorithm."""
