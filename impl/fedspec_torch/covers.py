"""Covers of the coordinates as tensor operations, for SM3: the largest over a set, the least over the sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Protocol

import torch
from jaxtyping import Int
from torch import Tensor

import fedspec.covers as spec
from fedspec.errors import CoverError
from fedspec.readings import CoverName
from fedspec_torch.arith import Sets, Stack


class Cover(Protocol):
    """Index sets S_1..S_q that cover the coordinates and may overlap."""

    @property
    def q(self) -> int:
        """The number of sets."""
        ...

    def greatest(self, values: Stack) -> Sets:
        """For each set r: max over j in S_r of values(j)."""
        ...

    def least(self, mu: Sets) -> Stack:
        """For each coordinate j: min over r with j in S_r of mu(r)."""
        ...


@dataclass(frozen=True, eq=False)
class IndexCover:
    """Any cover, as the list of its memberships: coordinate ``j[e]`` belongs to set ``r[e]``."""

    r: Int[Tensor, "e"]
    j: Int[Tensor, "e"]
    q: int
    d: int

    @classmethod
    def of(cls, cover: spec.Cover, device: torch.device | str = "cpu") -> IndexCover:
        """The memberships of a cover."""
        pairs = [(r, j) for r, indices in enumerate(cover.sets) for j in indices]
        r, j = torch.tensor(pairs, dtype=torch.int64, device=device).unbind(1)
        return cls(r=r, j=j, q=len(cover.sets), d=cover.d)

    def greatest(self, values: Stack) -> Sets:
        """For each set r: max over j in S_r of values(j)."""
        out = values.new_empty(len(values), self.q)
        return out.scatter_reduce(1, self.r.expand(len(values), -1), values[:, self.j], "amax", include_self=False)

    def least(self, mu: Sets) -> Stack:
        """For each coordinate j: min over r with j in S_r of mu(r)."""
        out = mu.new_empty(len(mu), self.d)
        return out.scatter_reduce(1, self.j.expand(len(mu), -1), mu[:, self.r], "amin", include_self=False)


@dataclass(frozen=True)
class AxisCover:
    """One set for each slice along each axis of each block, reduced on the real shapes.

    Raises:
        CoverError: a block has no axis, or none of its coordinates.
    """

    shapes: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for shape in self.shapes:
            if prod(shape) == 0 or not shape:
                raise CoverError(f"cover: a block of shape {shape} has no slices; give it an axis, or leave it out")

    @cached_property
    def q(self) -> int:
        """The number of sets."""
        return sum(sum(shape) for shape in self.shapes)

    def greatest(self, values: Stack) -> Sets:
        """For each slice r: max over j in S_r of values(j)."""
        n = len(values)
        parts: list[Tensor] = []
        for flat, shape in zip(torch.split(values, [prod(s) for s in self.shapes], 1), self.shapes, strict=True):
            block = flat.reshape(n, *shape)
            axes = range(1, block.ndim)
            parts.extend(block.amax([b for b in axes if b != a]) if len(shape) > 1 else flat for a in axes)
        return torch.cat(parts, 1)

    def least(self, mu: Sets) -> Stack:
        """For each coordinate j: min over the slices r through j of mu(r)."""
        n = len(mu)
        slices = iter(torch.split(mu, [length for shape in self.shapes for length in shape], 1))
        parts = []
        for shape in self.shapes:
            along = [next(slices).view(n, *(-1 if b == a else 1 for b in range(len(shape)))) for a in range(len(shape))]
            parts.append(reduce(torch.minimum, along).reshape(n, -1))
        return torch.cat(parts, 1)


def named_cover(name: CoverName, shapes: Mapping[str, Sequence[int]], device: torch.device | str = "cpu") -> Cover:
    """The cover of that name for a model of the given block shapes, coordinates in row-major order."""
    if name is CoverName.AXES:
        return AxisCover(tuple(tuple(shape) for shape in shapes.values()))
    return IndexCover.of(spec.named_cover(name, shapes), device)
