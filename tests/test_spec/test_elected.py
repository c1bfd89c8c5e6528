"""Krum and Multi-Krum, by hand."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from fedspec.arith import foremost
from fedspec.catalogue import find
from fedspec.plan import Message


def moved(name: str, values: list[int], examples: tuple[int, ...] = (), reading: str = "", **hyper: Any) -> Any:
    """Where a server that begins at 0 goes, whose clients send numbers."""
    row = find(name)
    run: Any = row.run
    options = dict(row.reading(reading or "blanchard-2017").fixes)
    h, sizes = run.hyper(eta_l=1, **hyper, **options), examples or (1,) * len(values)
    sent = [Message(np.array([F(v)]), n, 1, 1) for v, n in zip(values, sizes, strict=True)]
    return run.server(h, run.init(h, np.array([F(0)])), sent)[0][0]


SIX = [3, 6, 10, 23, 24, 28]
"""With f = 1 three others count: 23 has 1 + 25 + 169 = 195, 24 has 1 + 16 + 196 = 213, 10 has 49 + 16 + 169 = 234."""


def test_krum_takes_the_one_with_the_nearest_neighbours() -> None:
    assert moved("krum", SIX, f=1) == 23
    assert moved("krum", SIX, f=1, eta=F(1, 2)) == F(23, 2)
    # Of four others 10 has 234 + 196 = 430, 23 has 484, 24 has 537, 6 has 338 + 289 = 9 + 16 + 289 + 324 = 638.
    assert moved("krum", SIX, f=0) == 10


def test_readings_count_one_more_and_take_no_squares() -> None:
    assert moved("krum", SIX, f=1, reading="byzfl") == 10, "four others count"
    # 23 has 1 + 5 + 13 + 17 = 36 and 24 has 1 + 4 + 14 + 18 = 37; 10 has 4 + 7 + 13 + 14 = 38.
    assert moved("krum", SIX, f=1, reading="byzantine-momentum") == 23


def test_multi_krum_is_the_plain_mean_of_the_best() -> None:
    assert moved("multi-krum", SIX, f=1, keep=1) == 23
    assert moved("multi-krum", SIX, f=1, keep=2) == F(47, 2)
    assert moved("multi-krum", SIX, f=1, keep=3) == F(57, 3)
    assert moved("multi-krum", SIX, f=1, keep=9) == F(94, 6), "of fewer all are kept"


def test_examples_count_in_the_reading_that_weighs_and_nowhere_else() -> None:
    sizes = (1, 1, 1, 1, 3, 1)
    assert moved("multi-krum", SIX, sizes, f=1, keep=2) == F(47, 2)
    assert moved("multi-krum", SIX, sizes, "weighted", f=1, keep=2) == F(95, 4)


def test_of_equal_scores_the_first_is_taken() -> None:
    assert moved("krum", [0, 5, 4, 1], f=1) == 0, "one other counts, and two pairs are as near"
    assert moved("krum", [5, 4, 1, 0], f=1) == 5
    assert moved("krum", [7], f=3) == 7
    assert moved("krum", [7, 2], f=0) == 7


@pytest.mark.parametrize("dtype", ["float64", "float32", "object"])
def test_the_foremost_are_those_of_the_smallest_keys_in_their_order(dtype: str) -> None:
    keys = np.array([[3], [1], [2], [1], [0]]).astype(dtype)
    X = np.array([[0, 9], [1, 8], [2, 7], [3, 6], [4, 5]]).astype(dtype)
    assert foremost(keys, X, 1).tolist() == [[4, 5]]
    assert foremost(keys, X, 4).tolist() == [[4, 5], [1, 8], [3, 6], [2, 7]]
    assert foremost(keys, X, 5).tolist() == X.tolist(), "all of them are as they stand"
