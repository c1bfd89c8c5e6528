"""Functions for edited texts that need no session: blocks, rows, sets of a cover, mixing matrices, rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fedspec import covers
from fedspec.arith import concatenate, largest, norm, put, smallest, where_less
from fedspec.covers import Cover, Slices


def each_of(blocks: Sequence[slice], f: Callable[..., Any], v: Any, *more: Any) -> Any:
    """Apply a function to each block of some vectors; one number replaces all numbers of the block."""
    return concatenate([v[..., l] * 0 + f(v[..., l], *(u[..., l] for u in more)) for l in blocks])


def longer(u: Any, v: Any) -> Any:
    """Return the longer of two vectors."""
    return where_less(norm(u), norm(v), v, u)


def halving(rows: Any) -> Any:
    """Return the mean of the mean so far and the next row, from the first row on."""
    mean = rows[0]
    for row in rows[1:]:
        mean = (mean + row) / 2
    return mean


def first_larger(u: Any, v: Any) -> Any:
    """Return the lexicographically larger of two vectors."""
    larger = u
    for j in reversed(range(u.shape[-1])):
        a, b = u[..., [j]], v[..., [j]]
        larger = where_less(a, b, v, where_less(b, a, u, larger))
    return larger


def row_by_row(f: Callable[[Any], Any], rows: Any) -> Any:
    """Apply a function to the matrix once per row, and overwrite that row with the function's result for it."""
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
    """Round a number to an integer value of its own type."""
    return 0 * value + ROUNDED[how](float(value))


REDUCED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(axis=-1),
    "mean": lambda x: x.sum(axis=-1) / x.shape[-1],
    "first": lambda x: x[..., 0],
    "largest": largest,
    "smallest": smallest,
}
"""Functions from several numbers to one, by their words."""


def reduced(cover: Cover | Slices, over: str, how: str, values: Any) -> Any:
    """Reduce each set over its coordinates (``greatest``), or each coordinate over its sets (``least``)."""
    rows = {"greatest": "_members", "least": "_holders"}[over]
    return covers._reduced(REDUCED[how], values, getattr(getattr(cover, "listed", cover), rows))


def without_own(W: Any) -> Any:
    """Set the diagonal of a matrix to zero."""
    return W * (1 - np.eye(len(W), dtype=int))


def others_alone(W: Any) -> Any:
    """Set the diagonal to zero and rescale each row to sum to one; a row with nothing else stays."""
    rest = without_own(W)
    return np.array([row / sum(row) if sum(row) > 0 else whole for row, whole in zip(rest, W, strict=True)])


def plain_means(W: Any) -> Any:
    """Replace the positive entries of each row by equal weights that sum to one."""
    named = np.array([[float(w > 0) for w in row] for row in W.tolist()])
    return W * 0 + named / named.sum(axis=1, keepdims=True)
