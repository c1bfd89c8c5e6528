"""Functions for edited texts that need no session: blocks, rows, sets of a cover, mixing matrices, rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fedspec.arith import array, concatenate, norm, put, where_less
from fedspec.covers import Cover


def each_of(blocks: Sequence[slice], f: Callable[[Any], Any], v: Any) -> Any:
    """Apply a function to each block; if it returns one number, that number replaces all numbers of the block."""
    return concatenate([v[..., l] * 0 + f(v[..., l]) for l in blocks])


def longer(u: Any, v: Any) -> Any:
    """Longer of two vectors, as a whole."""
    return where_less(norm(u), norm(v), v, u)


def longer_of_each(blocks: Sequence[slice], u: Any, v: Any) -> Any:
    """Vector composed, block by block, of the longer of two vectors."""
    return concatenate([longer(u[..., l], v[..., l]) for l in blocks])


def first_larger(u: Any, v: Any) -> Any:
    """Larger of two vectors at the first coordinate where they differ, as lists are compared."""
    larger = u
    for j in reversed(range(u.shape[-1])):
        a, b = u[..., [j]], v[..., [j]]
        larger = where_less(a, b, v, where_less(b, a, u, larger))
    return larger


def first_larger_of_each(blocks: Sequence[slice], u: Any, v: Any) -> Any:
    """Vector composed, block by block, of the larger of two vectors at the first coordinate where they differ."""
    return concatenate([first_larger(u[..., l], v[..., l]) for l in blocks])


def row_by_row(f: Callable[[Any], Any], rows: Any) -> Any:
    """Apply a function to some rows, and write its result into them, one row after another."""
    rows = rows + 0
    for i in range(len(rows)):
        rows = put(rows, [i], f(rows)[[i]])
    return rows


ROUNDED: dict[str, Callable[[float], int]] = {
    "rounded": round,
    "rounded down": math.floor,
    "rounded up": math.ceil,
}
"""Functions that round a number to a whole number, by their words."""


def whole(value: Any, how: str) -> Any:
    """A number made a whole one, of its own kind."""
    return 0 * value + ROUNDED[how](float(value))


def set_sums(cover: Cover, values: Any) -> Any:
    """Sums of the coordinates of each set."""
    return array([sum(values[j] for j in S_r) for S_r in cover.sets], values)


def set_means(cover: Cover, values: Any) -> Any:
    """Means of the coordinates of each set."""
    return array([sum(values[j] for j in S_r) / len(S_r) for S_r in cover.sets], values)


def set_firsts(cover: Cover, values: Any) -> Any:
    """First coordinates of each set."""
    return array([values[S_r[0]] for S_r in cover.sets], values)


def without_own(W: Any) -> Any:
    """A matrix without its diagonal."""
    return W * (1 - np.eye(len(W), dtype=int))


def others_alone(W: Any) -> Any:
    """A matrix without its diagonal, its rows made to sum to one again; a row of nothing else stays."""
    rest = without_own(W)
    return np.array([row / sum(row) if sum(row) > 0 else whole for row, whole in zip(rest, W, strict=True)])


def plain_means(W: Any) -> Any:
    """A matrix whose rows give everyone whom they name the same."""
    named = np.array([[float(w > 0) for w in row] for row in W.tolist()])
    return W * 0 + named / named.sum(axis=1, keepdims=True)
