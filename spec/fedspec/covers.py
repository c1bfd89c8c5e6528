"""Covers of the coordinates, for SM3: data, checked when it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from fedspec.arith import Sets, Vector, gather, largest, smallest
from fedspec.errors import CoverError
from fedspec.readings import CoverName


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


@dataclass(frozen=True)
class Cover:
    """Index sets S_1..S_q whose union is {0..d-1}; they may overlap.

    Raises:
        CoverError: a coordinate belongs to no set, an index is out of range or a set is empty.
    """

    sets: tuple[tuple[int, ...], ...]
    d: int

    def __post_init__(self) -> None:
        for r, indices in enumerate(self.sets):
            bad = [j for j in indices if not 0 <= j < self.d]
            if bad or not indices:
                what = f"index {bad[0]} is not in 0..{self.d - 1}" if bad else "it is empty"
                raise CoverError(f"cover: set {r} is {indices}; {what}")
        missing = sorted(set(range(self.d)) - {j for s in self.sets for j in s})
        if missing:
            raise CoverError(
                f"cover: coordinate {missing[0]} belongs to no set ({len(missing)} of {self.d} missing); "
                f"every coordinate needs at least one"
            )

    @property
    def q(self) -> int:
        """The number of sets."""
        return len(self.sets)

    def greatest(self, values: Vector) -> Sets:
        """For each set r: max over j in S_r of values(j)."""
        return largest(gather(values, self._members))

    def least(self, mu: Sets) -> Vector:
        """For each coordinate j: min over r with j in S_r of mu(r)."""
        return smallest(gather(mu, self._holders))

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
    def _members(self) -> Int[np.ndarray, "q most"]:
        return _padded(self.sets)

    @cached_property
    def _holders(self) -> Int[np.ndarray, "d most"]:
        return _padded(self._sets_of)


def _padded(rows: Sequence[Sequence[int]]) -> Int[np.ndarray, "rows most"]:
    """Rows of one length: a maximum or minimum does not notice that the last entry is repeated."""
    most = max(map(len, rows))
    return np.array([[*row, *[row[-1]] * (most - len(row))] for row in rows])


def named_cover(name: CoverName, shapes: Mapping[str, Sequence[int]]) -> Cover:
    """The cover of that name for a model of the given block shapes, coordinates in row-major order."""
    sets: list[tuple[int, ...]] = []
    start = 0
    for shape in shapes.values():
        size = prod(shape)
        block = range(start, start + size)
        if name is CoverName.SINGLETONS:
            sets.extend((j,) for j in block)
        elif name is CoverName.ONE or not shape:
            sets.append(tuple(block))
        else:
            places = list(product(*map(range, shape)))
            for axis, length in enumerate(shape):
                sets.extend(
                    tuple(j for j, place in zip(block, places, strict=True) if place[axis] == slice_)
                    for slice_ in range(length)
                )
        start += size
    return Cover(tuple(sets), start)
