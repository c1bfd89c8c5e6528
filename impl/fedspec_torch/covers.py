"""The cover by axes as reductions on the real shapes of the blocks: a fast form of :class:`fedspec.covers.Cover`.

A block of 512 x 512 in float32 on one CPU core: 0.05 and 0.08 ms for greatest and least, by sets 1.2 and 1.6 ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod
from typing import Any

import torch
from torch import Tensor

import fedspec.covers as spec
from fedspec.covers import AnyCover
from fedspec.errors import CoverError
from fedspec.readings import CoverName
from fedspec_torch.arith import Stack


@dataclass(frozen=True)
class AxisCover:
    """One set for each slice along each axis of each block, reduced on the real shapes; a single number has one set.

    Raises:
        CoverError: a block has no coordinate.
    """

    shapes: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for shape in self.shapes:
            if prod(shape) == 0:
                raise CoverError(f"cover: a block of shape {shape} has no coordinate; leave it out")
        object.__setattr__(self, "shapes", tuple(shape or (1,) for shape in self.shapes))

    @cached_property
    def d(self) -> int:
        """The number of coordinates."""
        return sum(map(prod, self.shapes))

    @cached_property
    def q(self) -> int:
        """The number of sets."""
        return sum(sum(shape) for shape in self.shapes)

    def greatest(self, values: Stack) -> Stack:
        """For each slice r: max over j in S_r of values(j)."""
        n = len(values)
        parts: list[Tensor] = []
        for flat, shape in zip(torch.split(values, [prod(s) for s in self.shapes], 1), self.shapes, strict=True):
            block = flat.reshape(n, *shape)
            axes = range(1, block.ndim)
            parts.extend(block.amax([b for b in axes if b != a]) if len(shape) > 1 else flat for a in axes)
        return torch.cat(parts, 1)

    def least(self, mu: Stack, *, out: Stack | None = None) -> Stack:
        """For each coordinate j: min over the slices r through j of mu(r), written to ``out`` if it is given."""
        n = len(mu)
        found = mu.new_empty(n, self.d) if out is None else out
        slices = iter(torch.split(mu, [length for shape in self.shapes for length in shape], 1))
        for part, shape in zip(torch.split(found, [prod(s) for s in self.shapes], 1), self.shapes, strict=True):
            along = [next(slices).view(n, *(-1 if b == a else 1 for b in range(len(shape)))) for a in range(len(shape))]
            if len(along) == 1:
                part.copy_(along[0])
            else:
                torch.minimum(reduce(torch.minimum, along[:-1]), along[-1], out=part.view(n, *shape))
        return found


def with_axes(state: Any, h: Any, shapes: Mapping[str, Sequence[int]]) -> Any:
    """A state that holds the cover by axes, with its fast form in the place of that."""
    if getattr(h, "cover", None) is not CoverName.AXES or not hasattr(state, "cover"):
        return state
    return replace(state, cover=named_cover(CoverName.AXES, shapes))


def named_cover(name: CoverName, shapes: Mapping[str, Sequence[int]]) -> AnyCover:
    """The cover of that name for a model of the given block shapes, coordinates in row-major order."""
    if name is CoverName.AXES:
        return AxisCover(tuple(tuple(shape) for shape in shapes.values()))
    return spec.named_cover(name, shapes)
