"""Covers of the coordinates (overlapping index sets) for SM3: data, validated when it is made.

A :class:`Cover` holds the indices of its sets. :class:`Slices` hold the shapes of the blocks alone and reduce along
their axes, so that the cover of a model of 10^8 coordinates takes as little memory as that of ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import chain
from math import prod
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from fedspec.arith import Array, Sets, Vector, concatenate, gather, largest, minimum, namespace, smallest, transposed
from fedspec.errors import CoverError
from fedspec.params import LARGEST, is_whole, size
from fedspec.readings import CoverName, choice
from fedspec.records import record


@runtime_checkable
class AnyCover(Protocol):
    """Interface of a cover of the coordinates: the operations that SM3 uses."""

    @property
    def d(self) -> int:
        """The number of coordinates."""
        ...

    @property
    def q(self) -> int:
        """The number of sets."""
        ...

    def greatest(self, values: Vector) -> Sets:
        """For each set r: max over j in S_r of values(j)."""
        ...

    def least(self, mu: Sets) -> Vector:
        """For each coordinate j: min over r with j in S_r of mu(r)."""
        ...


@record
class Cover:
    """Index sets S_1..S_q whose union is {0..d-1}; they may overlap.

    Raises:
        CoverError: a coordinate belongs to no set, an index is out of range or a set is empty.
    """

    sets: tuple[tuple[int, ...], ...]
    d: int

    def __post_init__(self) -> None:
        if not is_whole(self.d) or self.d < 0:
            raise CoverError(f"cover: d = {self.d!r}; the number of coordinates is a whole number >= 0")
        held = np.unique(self._rows.numbers)
        if len(held) < self.d:
            # Within as many numbers as there are held, and one more.
            first = np.append(held != np.arange(len(held)), True).argmax()
            raise CoverError(
                f"cover: coordinate {first} belongs to no set ({self.d - len(held)} of {self.d} missing); "
                f"every coordinate needs at least one"
            )
        if self.sets:
            # Now, since what traces a rule cannot fill a cache.
            _ = self._members, self._holders

    @property
    def q(self) -> int:
        """The number of sets."""
        return len(self.sets)

    def greatest(self, values: Vector) -> Sets:
        """For each set r: max over j in S_r of values(j)."""
        return _reduced(largest, values, self._members)

    def least(self, mu: Sets) -> Vector:
        """For each coordinate j: min over r with j in S_r of mu(r)."""
        return _reduced(smallest, mu, self._holders)

    def holding(self, j: int) -> tuple[int, ...]:
        """Indices r of the sets that contain coordinate j."""
        numbers, ends = self._columns
        return tuple(numbers[ends[j - 1] if j else 0 : ends[j]].tolist())

    @cached_property
    def _rows(self) -> _Ragged:
        """The sets, with their indices checked."""
        ends = np.cumsum(np.fromiter(map(len, self.sets), int, self.q))
        numbers = _whole(self.sets, self.d, int(ends[-1]) if len(ends) else 0)
        if (numbers < 0).any() or not np.diff(ends, prepend=0).all():
            for r, indices in enumerate(self.sets):
                bad = [j for j in indices if not is_whole(j) or not 0 <= j < self.d]
                if bad or not indices:
                    what = f"index {bad[0]} is not in 0..{self.d - 1}" if bad else "it is empty"
                    raise CoverError(f"cover: set {r} is {indices}; {what}")
        return _Ragged(numbers, ends)

    @cached_property
    def _columns(self) -> _Ragged:
        """For each coordinate the sets that hold it, each of them once."""
        numbers, ends = self._rows
        owners = np.repeat(np.arange(self.q), np.diff(ends, prepend=0))
        order = np.argsort(numbers, kind="stable")
        numbers, owners = numbers[order], owners[order]
        first = (np.diff(numbers, prepend=-1) != 0) | (np.diff(owners, prepend=-1) != 0)
        return _Ragged(owners[first], np.cumsum(np.bincount(numbers[first], minlength=self.d)))

    @cached_property
    def _members(self) -> _Rows:
        return _by_length(self._rows)

    @cached_property
    def _holders(self) -> _Rows:
        return _by_length(self._columns)


class _Ragged(NamedTuple):
    """Rows of numbers, one after another, and where each of them ends."""

    numbers: Int[np.ndarray, "total"]
    ends: Int[np.ndarray, "rows"]


class _Rows(NamedTuple):
    """Rows of indices grouped by length, with the next position in each row; uses no more numbers than the rows."""

    tables: tuple[Int[np.ndarray, "rows length"], ...]
    places: Int[np.ndarray, "rows"]


def _whole(sets: Sequence[Sequence[int]], d: int, count: int) -> Int[np.ndarray, "total"]:
    """The indices of all sets, end to end; -1 in the place of each that is not in 0..d-1 or not whole."""
    if set(map(type, chain.from_iterable(sets))) <= {int}:
        try:
            numbers = np.fromiter(chain.from_iterable(sets), int, count)
        except OverflowError:
            pass
        else:
            return np.where((numbers >= 0) & (numbers < d), numbers, -1)
    return np.fromiter(
        (min(j, LARGEST) if is_whole(j) and 0 <= j < d else -1 for j in chain.from_iterable(sets)), int, count
    )


def _by_length(rows: _Ragged) -> _Rows:
    lengths = np.diff(rows.ends, prepend=0)
    order = np.argsort(lengths, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)
    begins = rows.ends - lengths
    tables = tuple(rows.numbers[begins[some][:, None] + np.arange(lengths[some[0]])] for some in groups)
    return _Rows(tables, np.argsort(order))


def _reduced(reduce: Callable[[Array], Vector], x: Vector, rows: _Rows) -> Vector:
    """Numbers, one for each row: the reduction of the coordinates of x that the row names."""
    found = [reduce(gather(x, table)) for table in rows.tables]
    return found[0] if len(found) == 1 else gather(concatenate(found), rows.places)


@record
class Slices:
    """Cover by slices: for each block shape, the slices along some of its axes; coordinates in row-major order.

    For example, the rows and columns of a matrix are ``Slices(shapes=((3, 4),), axes=((0, 1),))``, its rows alone
    ``Slices(((3, 4),), ((0,),))``. Sets are numbered block by block, in a block axis by axis.

    Raises:
        CoverError: a block has no coordinate, or none of its axes is named.
    """

    shapes: tuple[tuple[int, ...], ...]
    axes: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for shape, axes in self._blocks():
            if prod(shape) == 0:
                raise CoverError(f"cover: a block of shape {shape} has no coordinate; leave it out")
            if not axes or not all(is_whole(axis) and 0 <= axis < len(shape) for axis in axes):
                raise CoverError(f"cover: got axes {axes} for a block of shape {shape}; give at least one of its axes")

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return sum(map(prod, self.shapes))

    @property
    def q(self) -> int:
        """The number of sets."""
        return sum(shape[axis] for shape, axes in self._blocks() for axis in axes)

    def greatest(self, values: Vector) -> Sets:
        """For each set r: max over j in S_r of values(j)."""
        xp: Any = namespace(values)
        lead, parts, start = values.shape[:-1], [], 0
        for shape, axes in self._blocks():
            block = values[..., start : start + prod(shape)]
            start += prod(shape)
            for axis in axes:
                before, length, after = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
                part = block
                if after > 1:
                    part = largest(xp.reshape(part, (*lead, before * length, after)))
                if before > 1:
                    part = largest(transposed(xp.reshape(part, (*lead, before, length))))
                parts.append(part)
        return concatenate(parts)

    def least(self, mu: Sets) -> Vector:
        """For each coordinate j: min over r with j in S_r of mu(r)."""
        xp: Any = namespace(mu)
        lead, parts, start = mu.shape[:-1], [], 0
        for shape, axes in self._blocks():
            along = []
            for axis in axes:
                numbers = mu[..., start : start + shape[axis]]
                start += shape[axis]
                along.append(xp.reshape(numbers, (*lead, *(n if a == axis else 1 for a, n in enumerate(shape)))))
            of_block = xp.broadcast_to(reduce(minimum, along), (*lead, *shape))
            parts.append(xp.reshape(of_block, (*lead, prod(shape))))
        return concatenate(parts)

    def holding(self, j: int) -> tuple[int, ...]:
        """Indices r of the sets that contain coordinate j."""
        return self.listed.holding(j)

    @property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """Index sets S_1..S_q, block by block, and within a block axis by axis."""
        return self.listed.sets

    @cached_property
    def listed(self) -> Cover:
        """Equivalent cover with explicit index sets; for each axis it stores all of a block's indices."""
        found: list[tuple[int, ...]] = []
        start = 0
        for shape, axes in self._blocks():
            block = np.arange(start, start + prod(shape)).reshape(shape)
            start += block.size
            for axis in axes:
                found.extend(map(tuple, np.moveaxis(block, axis, 0).reshape(shape[axis], -1).tolist()))
        return Cover(tuple(found), start)

    def _blocks(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        return zip(self.shapes, self.axes, strict=True)


def named_cover(name: CoverName, shapes: Mapping[str, Sequence[int]]) -> Slices:
    """Return the cover called ``name`` for blocks of the given shapes, coordinates in row-major order.

    Raises:
        UnknownNameError: no cover has that name.
        ShapeError: a length in a shape isn't a whole number >= 0.
        CoverError: a block has no coordinate.
    """
    name = choice(CoverName, "cover", name)
    blocks: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for block_name, shape in shapes.items():
        count = size(block_name, shape)
        if name is CoverName.ONE:
            blocks.append(((1, count), (0,)))
        elif name is CoverName.SINGLETONS or not shape:
            blocks.append(((count,), (0,)))
        else:
            blocks.append((tuple(shape), tuple(range(len(shape)))))
    return Slices(tuple(shape for shape, _ in blocks), tuple(axes for _, axes in blocks))
