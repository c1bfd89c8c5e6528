"""Covers of the coordinates, for SM3: data, checked when it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from fedspec.errors import CoverError
from fedspec.readings import CoverName


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

    def holding(self, j: int) -> tuple[int, ...]:
        """The numbers r of the sets that hold coordinate j."""
        return tuple(r for r, indices in enumerate(self.sets) if j in indices)


def named_cover(name: CoverName, shapes: Mapping[str, Sequence[int]]) -> Cover:
    """The cover of that name for a model of the given block shapes, coordinates in row-major order."""
    sets: list[tuple[int, ...]] = []
    start = 0
    for shape in shapes.values():
        size = prod(shape)
        block = range(start, start + size)
        if name is CoverName.SINGLETONS:
            sets.extend((j,) for j in block)
        elif name is CoverName.ONE:
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
