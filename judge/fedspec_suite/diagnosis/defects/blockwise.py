"""Defects of blocks: a rule of the whole model applied to each block separately, and wrong sets of a cover by axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import fields, is_dataclass, replace
from functools import partial
from types import MethodType
from typing import Any, TypeAlias

import numpy as np

from fedspec.catalogue import LocalSolver, Method
from fedspec.contract import Event, Level
from fedspec.covers import Cover
from fedspec.facts import Fact
from fedspec.params import layers, shapes
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, calling
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions, names

WHOLE = {"norm", "total", "largest", "smallest", "where_shorter", "keep_largest"}
"""Functions that reduce all coordinates to one number or compare them."""


def _parts(s: Scenario) -> tuple[Callable[[Any, slice], Any], Callable[[Any, Any, slice], Any]]:
    """Return a function that leaves one block of a record, vector or stack, and one that puts a block into all."""
    d = layers(shapes(s.case.x0))[-1].stop
    inside = np.arange(d)

    def alone(value: Any, at: slice) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{f.name: alone(getattr(value, f.name), at) for f in fields(value)})
        if isinstance(value, np.ndarray) and value.shape[-1:] == (d,):
            return value * ((inside >= at.start) & (inside < at.stop))
        return [alone(v, at) for v in value] if isinstance(value, list) else value

    def joined(all_: Any, some: Any, at: slice) -> Any:
        if is_dataclass(some) and not isinstance(some, type):
            parts = {f.name: joined(getattr(all_, f.name), getattr(some, f.name), at) for f in fields(some)}
            return replace(some, **parts)
        if isinstance(some, dict):
            return {n: joined(all_[n], v, at) for n, v in some.items()}
        if isinstance(some, tuple):
            return tuple(joined(a, v, at) for a, v in zip(all_, some, strict=True))
        if isinstance(some, np.ndarray) and some.shape == (d,):
            return np.concatenate([all_[: at.start], some[at], all_[at.stop :]])
        return some

    return alone, joined


def _by_itself(inner: Running, s: Scenario) -> Running:
    blocks, (alone, joined) = layers(shapes(s.case.x0)), _parts(s)

    def of_blocks(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        all_: Any = None
        for at in blocks:
            of_names = {n: v if n == "cover" else alone(v, at) for n, v in named.items()}
            some = function(*given[:1], *(alone(v, at) for v in given[1:]), **of_names)
            all_ = some if all_ is None else joined(all_, some, at)
        return all_

    solver = getattr(inner, "solver", None)
    if isinstance(solver, LocalSolver):
        # A solver is given everything by its name, a server its hyper-parameters first.
        inner.solver = replace(solver, rule=calling(of_blocks)(solver.rule))
    else:
        inner.run = replace(inner.run, server=calling(of_blocks)(inner.run.server))
    return inner


def of(setting: Setting) -> Iterator[Defect]:
    """Yield the defect in which a rule that reads the whole model is applied to each block separately."""
    run = setting.algorithm.run
    if setting.algorithm.has(Fact.MATRICES) or "layers" in setting.takes or "phi" in setting.algorithm.options:
        # These rules are of layers themselves.
        return
    if setting.level not in {"client", "server"} and not isinstance(run, Method):
        return
    level: Level = "server" if isinstance(run, Method) else setting.level
    if any(WHOLE & {*names(f)} for f in functions(setting.algorithm, level)):
        words = "every block is stepped by itself: a length, a sum or a largest number is that of a block"
        yield Defect(words=words, session=_by_itself)


def in_flat_blocks(change: Callable[[Running], None], inner: Running, s: Scenario) -> Running:
    """Wrap a session so that it is another one in blocks with fewer than two axes, such as biases.

    The two are told apart by coordinate, as a rule without lengths and sums allows.

    Args:
        change: function that turns a copy of the session into the other one.
        inner: the session.
        s: the case.
    """
    other = copy(inner)
    if "take" in vars(other):
        # A copied session's function is bound to that session.
        other.take = MethodType(inner.take.__func__, other)
    change(other)
    flat = np.concatenate([np.full(a.size, a.ndim < 2) for a in s.case.x0.values()])

    def take(inner: Running, event: Event, k: int) -> Any:
        theirs, mine = other.step(event), inner.step(event)
        inner.state = other.state = _merged(flat, other.state, inner.state)
        return _merged(flat, theirs, mine)

    return Stepping(inner, take)


def _merged(where: Any, a: Any, b: Any) -> Any:
    """A record or dictionary with the vectors of ``a`` in some coordinates, and ``b`` elsewhere."""
    if is_dataclass(b) and not isinstance(b, type):
        return replace(b, **{f.name: _merged(where, getattr(a, f.name), getattr(b, f.name)) for f in fields(b)})
    if isinstance(b, dict):
        return {n: _merged(where, a[n], v) for n, v in b.items()}
    return np.where(where, a, b) if isinstance(b, np.ndarray) and b.shape == where.shape else b


Block: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
"""Coordinate numbers of a block, in the block's shape."""


def _slices(block: Block, axes: slice = slice(None)) -> Iterator[Block]:
    """Yield the coordinates with each index of each of some axes."""
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
"""Wrong divisions of a block into sets, by the words of the defect; right are its slices along every axis."""


def _covered(sets: Callable[[Block], Iterator[Block]], order: int, inner: Running, s: Scenario) -> Running:
    """A session whose cover is another."""
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


def other_covers(setting: Setting) -> Iterator[Defect]:
    """Yield the defects of wrong covers, if the claimed cover is by axes."""
    if setting.options.get("cover") == "axes":
        for words, sets in KINDS.items():
            yield Defect(words=words, tail="nu", session=partial(_covered, sets, 1))
        words = "the cover takes the blocks of the model in the reverse order"
        yield Defect(words=words, tail="nu", session=partial(_covered, _slices, -1))
