"""Covers of the coordinates, for SM3: data, checked when it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from fedspec.arith import Array, Sets, Vector, concatenate, gather, largest, smallest
from fedspec.errors import CoverError
from fedspec.params import is_whole, size
from fedspec.readings import CoverName, choice
from fedspec.records import record


@runtime_checkable
class AnyCover(Protocol):
    """What SM3 asks of a cover of the coordinates."""

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
        for r, indices in enumerate(self.sets):
            bad = [j for j in indices if not is_whole(j) or not 0 <= j < self.d]
            if bad or not indices:
                what = f"index {bad[0]} is not in 0..{self.d - 1}" if bad else "it is empty"
                raise CoverError(f"cover: set {r} is {indices}; {what}")
        held = {j for s in self.sets for j in s}
        if len(held) < self.d:
            # Within as many numbers as there are held, and one more.
            first = next(j for j in range(self.d) if j not in held)
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
        """The numbers r of the sets that hold coordinate j."""
        return self._sets_of[j]

    @cached_property
    def _sets_of(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in range(self.d)]
        for r, indices in enumerate(self.sets):
            for j in dict.fromkeys(indices):
                found[j].append(r)
        return tuple(map(tuple, found))

    @cached_property
    def _members(self) -> _Rows:
        return _by_length(self.sets)

    @cached_property
    def _holders(self) -> _Rows:
        return _by_length(self._sets_of)


class _Rows(NamedTuple):
    """Rows of indices, those of one length together, and where each row has got to: no more numbers than the rows."""

    tables: tuple[Int[np.ndarray, "rows length"], ...]
    places: Int[np.ndarray, "rows"]


def _by_length(rows: Sequence[Sequence[int]]) -> _Rows:
    of_length: dict[int, list[int]] = {}
    for r, row in enumerate(rows):
        of_length.setdefault(len(row), []).append(r)
    tables = tuple(np.array([rows[r] for r in some]) for some in of_length.values())
    return _Rows(tables, np.argsort(np.concatenate(list(of_length.values()))))


def _reduced(reduce: Callable[[Array], Vector], x: Vector, rows: _Rows) -> Vector:
    """One number for each row: what the coordinates of x that it names reduce to."""
    found = [reduce(gather(x, table)) for table in rows.tables]
    return found[0] if len(found) == 1 else gather(concatenate(found), rows.places)


def named_cover(name: CoverName, shapes: Mapping[str, Sequence[int]]) -> Cover:
    """The cover of that name for a model of the given block shapes, coordinates in row-major order.

    Raises:
        UnknownNameError: there is no such cover.
        ShapeError: a block has a length that is none.
    """
    name = choice(CoverName, "cover", name)
    sets: list[tuple[int, ...]] = []
    start = 0
    for block_name, shape in shapes.items():
        count = size(block_name, shape)
        block = np.arange(start, start + count)
        if name is CoverName.SINGLETONS:
            sets.extend(zip(block.tolist(), strict=True))
        elif name is CoverName.ONE or not shape:
            sets.append(tuple(block.tolist()))
        else:
            for axis, length in enumerate(shape):
                slices = np.moveaxis(block.reshape(shape), axis, 0).reshape(length, count // max(length, 1))
                sets.extend(map(tuple, slices.tolist()))
        start += count
    return Cover(tuple(sets), start)
