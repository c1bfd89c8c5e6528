"""Sets of coordinates: which of them share one number of a cover by the axes of the blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from fedspec.covers import Cover
from fedspec.params import shapes
from fedspec_suite.diagnosis.defects.defect import Defect, Running
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

Block: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
"""The numbers of a block's coordinates, in its shape."""


def _slices(block: Block, axes: slice = slice(None)) -> Iterator[Block]:
    """For each index of each of some axes the coordinates that have it."""
    for axis in range(block.ndim)[axes]:
        yield from np.moveaxis(block, axis, 0)


def _ends(block: Block) -> Iterator[Block]:
    yield from _slices(block, slice(None, None, max(1, block.ndim - 1)))


def _lines(block: Block) -> Iterator[Block]:
    """Along each axis the coordinates that differ in its index alone."""
    for axis in range(block.ndim):
        yield from np.moveaxis(block, axis, -1).reshape(-1, block.shape[axis])


def _matrix(block: Block, rows: int) -> Iterator[Block]:
    """The slices of a block whose first axes are taken as one, and the others as one."""
    yield from _slices(block.reshape(int(np.prod(block.shape[:rows])), -1) if block.ndim > 1 else block)


def _vector_whole(block: Block) -> Iterator[Block]:
    yield from _slices(block) if block.ndim > 1 else (block,)


KINDS: Mapping[str, Callable[[Block], Iterator[Block]]] = {
    "the sets are the slices of the first axis alone": partial(_slices, axes=slice(0, 1)),
    "the sets are the slices of the last axis alone": partial(_slices, axes=slice(-1, None)),
    "the sets are the slices of the first two axes alone": partial(_slices, axes=slice(0, 2)),
    "the sets are the slices of the first and the last axis, none between": _ends,
    "the sets are the lines along each axis, not its slices": _lines,
    "a block is a matrix: its first axis by all others as one": partial(_matrix, rows=1),
    "a block is a matrix: all axes but the last as one by the last": partial(_matrix, rows=-1),
    "a block of one axis is one set": _vector_whole,
}
"""What a block is divided into, in the place of its slices along every axis."""


def _covered(sets: Callable[[Block], Iterator[Block]], order: int = 1) -> Callable[[Running, Scenario], Running]:
    """A session whose cover is another."""

    def begin(inner: Running, s: Scenario) -> Running:
        found, start = [], 0
        for shape in [*shapes(s.case.x0).values()][::order]:
            block = np.arange(start, start + int(np.prod(shape))).reshape(shape or (1,))
            found += [tuple(some.ravel().tolist()) for some in sets(block)]
            start += block.size
        cover = Cover(tuple(found), start)
        if hasattr(inner, "cover"):
            inner.cover = cover
            inner.begin(inner.anchor)
        else:
            inner.state = replace(inner.state, cover=cover)
        return inner

    return begin


def of(setting: Setting) -> Iterator[Defect]:
    """The covers that may stand for that by the axes."""
    if setting.options.get("cover") == "axes":
        for words, sets in KINDS.items():
            yield Defect(words=words, tail="nu", session=_covered(sets))
        words = "the cover takes the blocks of the model in the reverse order"
        yield Defect(words=words, tail="nu", session=_covered(_slices, order=-1))
