"""Covers: their numbers by a second route, and work and memory that grow with the sets that are given and no faster."""

from __future__ import annotations

import inspect
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import is_dataclass
from fractions import Fraction as F
from itertools import product
from math import prod
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
from test_spec.float_counts import hyper

from fedspec import covers
from fedspec.catalogue import CATALOGUE, LocalSolver, Program
from fedspec.covers import Cover, Slices, named_cover
from fedspec.errors import CoverError
from fedspec.plan import Setup
from fedspec.readings import CoverName

pytestmark = pytest.mark.table(20)

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


def both(name: CoverName, shapes: dict[str, tuple[int, ...]]) -> tuple[Slices, Cover]:
    """The cover of shapes, and the cover of its sets."""
    cover = named_cover(name, shapes)
    return cover, cover.listed


def of(cover: Cover | Slices, seed: int, number: Callable[[float], Any], dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return tuple(  # type: ignore[return-value]
        np.array([number(float(x)) for x in rng.normal(size=n)], dtype) for n in (cover.d, cover.q)
    )


@pytest.mark.parametrize(
    "cover",
    [
        *(cover for shapes in SHAPES for name in CoverName for cover in both(name, shapes)),
        OVERLAPPING,
    ],
    ids=lambda cover: f"{type(cover).__name__} {cover.sets}"[:60],
)
@pytest.mark.parametrize(
    ("number", "dtype"), [(float, float), (np.float32, np.float32), (F, object)], ids=["64", "32", "fractions"]
)
def test_greatest_and_least_are_those_of_a_loop(
    cover: Cover | Slices, number: Callable[[float], Any], dtype: Any
) -> None:
    values, mu = of(cover, 0, number, dtype)
    assert cover.greatest(values).tolist() == [max(values[j] for j in s) for s in cover.sets]
    assert cover.least(mu).tolist() == [min(mu[r] for r, s in enumerate(cover.sets) if j in s) for j in range(cover.d)]
    assert cover.greatest(values).dtype == values.dtype
    for of_any, a in ((cover.greatest, values), (cover.least, mu)) if dtype is not object else ():
        both_rows = of_any(torch.tensor(np.stack([a, -a])))  # type: ignore[arg-type]
        assert both_rows.tolist() == [of_any(a).tolist(), of_any(-a).tolist()]
    # A caller may write to what it gets.
    for got in (cover.greatest(values), cover.least(mu)):
        assert got.flags.writeable and not np.shares_memory(got, values) and not np.shares_memory(got, mu)


def test_a_stack_has_the_numbers_of_each_client() -> None:
    cover = named_cover(CoverName.AXES, SHAPES[-1])
    values, mu = (np.random.default_rng(0).normal(size=(2, 3, n)) for n in (cover.d, cover.q))
    for of_stack, of_one, rows in (
        (cover.greatest(values), cover.greatest, values),
        (cover.least(mu), cover.least, mu),
    ):
        assert of_stack.tolist() == [[of_one(row).tolist() for row in some] for some in rows]


@pytest.mark.parametrize("name", CoverName)
@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_blocks_without_coordinates_are_refused(shape: tuple[int, ...], name: CoverName) -> None:
    with pytest.raises(CoverError, match="no coordinate"):
        named_cover(name, {"w": shape})


@pytest.mark.parametrize("index", [2**70, -1, np.int64(7), np.float64(1)], ids=repr)
def test_an_index_is_refused_by_the_set_that_has_it(index: Any) -> None:
    with pytest.raises(CoverError, match=r"^cover: set 1 is .*index .* is not in 0\.\.6"):
        Cover((tuple(range(7)), (0, index), (-2,)), 7)


def test_indices_of_numpy_and_repeated_ones_are_taken() -> None:
    cover = Cover(((np.int64(1), np.int32(0)), (2, 2, 1)), 3)  # type: ignore[arg-type]
    assert [cover.holding(j) for j in range(3)] == [(0,), (0, 1), (1,)]
    assert cover.greatest(np.array([1.0, 3.0, 2.0])).tolist() == [3, 3]


def lines(make: Callable[[], object]) -> int:
    """Number of lines of the module of covers that run: every pass of a loop or comprehension is one at least."""
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
def test_a_named_cover_is_made_in_as_few_steps_for_any_number_of_coordinates(name: CoverName, shapes: Any) -> None:
    few, many = (lines(lambda n=n: named_cover(name, shapes(n)).q) for n in (60, 10**8))  # type: ignore[misc]
    assert many == few


@pytest.mark.parametrize("shapes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("name", CoverName)
def test_sets_are_checked_in_as_few_steps_for_any_number_of_coordinates(name: CoverName, shapes: Any) -> None:
    few, many = (named_cover(name, shapes(n)) for n in (60, 120))
    steps = [lines(lambda c=c: Cover(c.sets, c.d)) for c in (few, many)]  # type: ignore[misc]
    assert steps[0] == steps[1]


def reached(value: Any, found: dict[int, int]) -> dict[int, int]:
    """The bytes of all arrays in a state, by where they lie."""
    if isinstance(value, np.ndarray):
        whole = value if value.base is None else value.base
        found[id(whole)] = whole.nbytes
    for part in value if isinstance(value, tuple) else vars(value).values() if is_dataclass(value) else ():
        reached(part, found)
    return found


BEGUN = [
    a for a in CATALOGUE.values() if isinstance(a.run, Program) or (isinstance(a.run, LocalSolver) and a.run.begin)
]


@pytest.mark.parametrize("a", BEGUN, ids=lambda a: a.id)
def test_a_state_is_begun_in_the_memory_that_it_has(a: Any) -> None:
    """Beside it no more than one copy of what the clients begin with: no coordinate is an object of Python's."""
    shapes, clients = {"w": (200, 150), "b": (200,)}, 3
    x = np.ones(30_200 * (clients if "peers" in getattr(a.run, "takes", ()) else 1))
    if isinstance(a.run, LocalSolver):
        wanted = inspect.signature(a.run.begin).parameters
        more = {
            n: v for n, v in (("cover", lambda: named_cover(CoverName.AXES, shapes)), ("v0", lambda: 1)) if n in wanted
        }
        begin: Any = lambda: a.run.begin(x, **{n: v() for n, v in more.items()})  # noqa: E731
    else:
        h = a.run.hyper(**hyper(a))
        begin = lambda: a.run.init(h, x, Setup((2, 1, 1), shapes))  # noqa: E731
    tracemalloc.start()
    try:
        state = begin()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most <= sum(reached(state, {}).values()) + x.nbytes + 50_000


@pytest.mark.parametrize("shapes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("name", CoverName)
def test_nothing_is_looked_up_that_no_set_names(name: CoverName, shapes: Any) -> None:
    """Also where sets of one coordinate stand beside a set of many."""
    cover = named_cover(name, shapes(50)).listed
    named = sum(map(len, cover.sets))
    for rows in (cover._members, cover._holders):
        assert sum(table.size for table in rows.tables) == named
