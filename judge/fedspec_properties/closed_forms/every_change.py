"""Servers that read every change of a round: their move, found in another way than by sorting or by sums of squares.

The k-th smallest of some values is the least that a subset of k of them has for its largest. The mean of squared
lengths is the squared length of the mean and what the vectors are apart, two by two: the sum over i < j of
p_i p_j ||Delta_i - Delta_j||^2. Of some numbers the sum of the k smallest is the least that k of them have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import floor
from typing import Any

from fedspec.arith import Array, maximum, minimum, sqrt
from fedspec_properties.closed_forms.adaptive import Numbers, Options
from fedspec_properties.closed_forms.sums import largest, total

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


def winners(m: int, rows: Sequence[Array], h: Numbers, o: Options) -> tuple[int, ...]:
    """Those m of which all together are nearest to others of their own; of several such, those that come first."""
    n = len(rows)
    several = max(1, n - h["f"] - (1 if o["neighbours"] == "n-f-1" else 2))

    def apart(i: int, j: int) -> Any:
        length = squared(rows[i] - rows[j])
        return sqrt(length) if o["distance"] == "plain" else length

    def alone(i: int) -> Any:
        others = [apart(i, j) for j in range(n) if j != i]
        return min(total([0 * squared(rows[i]), *some]) for some in combinations(others, min(several, len(others))))

    scores = [alone(i) for i in range(n)]
    return min(combinations(range(n), min(m, n)), key=lambda some: total(scores[i] for i in some))


def of_winners(p: Sequence[Any], rows: Sequence[Array], h: Numbers, o: Options) -> Array:
    """What they change on average."""
    kept = winners(int(h["keep"]), rows, h, o)
    mean: Array = total(p[i] * rows[i] for i in kept) / total(p[i] for i in kept)
    return mean


def pulled(p: Sequence[Any], rows: Sequence[Array], h: Numbers, o: Options) -> Array:
    """Where passes lead that take one change after another into a mean by its share in what it holds so far."""

    def taken(z: Array, weights: Sequence[Any]) -> Array:
        held, mean = weights[0], rows[0]
        for weight, row in zip(weights[1:], rows[1:], strict=True):
            held = held + weight
            mean = mean + (row - mean) * (weight / held)
        return mean

    there = rows[0] * 0 if o["origin"] == "zero" else total(p_i * row for p_i, row in zip(p, rows, strict=True))
    for _ in range(int(h["passes"])):
        # The z of this pass stays what it is while its weights are made.
        apart = [maximum(sqrt(squared(there - row)), h["smooth"]) for row in rows]
        there = taken(there, [p_i / length for p_i, length in zip(p, apart, strict=True)])
    return there


def centred(rounds: Sequence[Sequence[Array]], h: Numbers) -> Array:
    """The centre after these rounds: it lacks of each mean what the clipped differences are beyond the radius."""
    c, v = h["clip_norm"], rounds[0][0] * 0
    for rows in rounds:
        for _ in range(int(h["passes"])):
            beyond = [row * 0 for row in rows]
            for i, row in enumerate(rows):
                length = sqrt(squared(row - v))
                beyond[i] = (row - v) * (1 - c / length) if length > c else row * 0
            v = total(row - more for row, more in zip(rows, beyond, strict=True)) / len(rows)
    return v


MOVES: dict[str, Move] = {
    "fedexp": lambda p, rows, h, o: further(p, rows, h),
    "geometric-median": lambda p, rows, h, o: h["eta"] * pulled(p, rows, h, o),
    "krum": lambda p, rows, h, o: h["eta"] * rows[winners(1, rows, h, o)[0]],
    "median": lambda p, rows, h, o: h["eta"] * middle(rows, o),
    "multi-krum": lambda p, rows, h, o: h["eta"] * of_winners(p, rows, h, o),
    "trimmed-mean": lambda p, rows, h, o: h["eta"] * without_ends(rows, h),
}
"""By the algorithm."""
