"""Covers: their numbers by a second route, and work that grows with the sizes of the sets and no faster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction as F
from itertools import product
from math import prod
from types import FrameType
from typing import Any

import numpy as np
import pytest

from fedspec import covers
from fedspec.covers import Cover, named_cover
from fedspec.readings import CoverName

SHAPES: tuple[dict[str, tuple[int, ...]], ...] = (
    {"w": (7,)},
    {"w": (3, 4)},
    {"w": (2, 3, 4)},
    {"a": (3, 4), "b": (5,), "c": (2, 1, 3), "d": (1,), "e": ()},
)
OVERLAPPING = Cover(((0, 1, 2), (2, 3, 4, 5), (5, 0), (6,), (1, 6, 4), (6,)), 7)


def slices(shapes: dict[str, tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Slice by slice: the coordinates whose place along the axis is the slice's; a number by itself is a set."""
    out, start = [], 0
    for shape in shapes.values():
        places = list(enumerate(product(*map(range, shape)), start))
        for axis, length in enumerate(shape):
            out += [tuple(j for j, place in places if place[axis] == s) for s in range(length)]
        out += [(start,)] * (shape == ())
        start += prod(shape)
    return out


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_axes_are_the_slices_of_every_block(shapes: dict[str, tuple[int, ...]]) -> None:
    cover = named_cover(CoverName.AXES, shapes)
    assert list(cover.sets) == slices(shapes)
    assert all(type(j) is int for s in cover.sets for j in s)


def of(cover: Cover, seed: int, number: Callable[[float], Any], dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return tuple(  # type: ignore[return-value]
        np.array([number(float(x)) for x in rng.normal(size=n)], dtype) for n in (cover.d, cover.q)
    )


@pytest.mark.parametrize(
    "cover",
    [*(named_cover(name, shapes) for shapes in SHAPES for name in CoverName), OVERLAPPING],
    ids=lambda cover: str(cover.sets)[:40],
)
@pytest.mark.parametrize(
    ("number", "dtype"), [(float, float), (np.float32, np.float32), (F, object)], ids=["64", "32", "fractions"]
)
def test_greatest_and_least_are_those_of_a_loop(cover: Cover, number: Callable[[float], Any], dtype: Any) -> None:
    values, mu = of(cover, 0, number, dtype)
    assert cover.greatest(values).tolist() == [max(values[j] for j in s) for s in cover.sets]
    assert cover.least(mu).tolist() == [min(mu[r] for r, s in enumerate(cover.sets) if j in s) for j in range(cover.d)]
    assert cover.greatest(values).dtype == values.dtype


def lines(make: Callable[[], object]) -> int:
    """How many lines of the module of covers run: every pass of a loop or comprehension is one at least."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += frame.f_code.co_filename == covers.__file__
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        make()
    finally:
        sys.settrace(before)
    return count


SIZES: dict[str, Callable[[int], dict[str, tuple[int, ...]]]] = {
    "vector": lambda n: {"w": (n,)},
    "matrix": lambda n: {"W": (n, 2)},
    "matrix and vector": lambda n: {"W": (n, 2), "b": (n,)},
}


@pytest.mark.parametrize("shapes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("name", CoverName)
def test_a_cover_is_made_in_as_many_steps_as_it_has_coordinates(name: CoverName, shapes: Any) -> None:
    few, many = (lines(lambda n=n: named_cover(name, shapes(n))) for n in (60, 120))  # type: ignore[misc]
    assert many <= 2 * few


@pytest.mark.parametrize("shapes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("name", CoverName)
def test_nothing_is_looked_up_that_no_set_names(name: CoverName, shapes: Any) -> None:
    """Also where sets of one coordinate stand beside a set of many."""
    cover = named_cover(name, shapes(50))
    named = sum(map(len, cover.sets))
    for rows in (cover._members, cover._holders):
        assert sum(table.size for table in rows.tables) == named
