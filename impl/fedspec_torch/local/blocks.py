"""Buffers of a block of clients (models, gradients, moments) that every step overwrites.

Where the layers are written out, a vector of n clients is one tensor of n d numbers: the n rows of the first part of
the model, then those of the second, and so on. A part is then a stack of matrices that are neighbours, as products are
written at full speed, and what is done to all coordinates alike is still one call. Elsewhere it is a stack [n, d].

Solvers that keep more vectors take no smaller blocks: on one core of a Xeon half the usual number of clients
(:func:`fedspec_torch.population.default_block`) was measured to be slower by a tenth, a quarter of it by a half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import prod
from typing import Any, TypeAlias

from torch import Tensor

from fedspec_torch.arith import Stack

Part: TypeAlias = tuple[slice, tuple[int, ...]]
"""Slice of a parameter in the vector of all parameters, and its shape."""


def parts_of(shapes: Iterable[Sequence[int]]) -> tuple[Part, ...]:
    """Return slices and shapes of parameters with these shapes, one after another in a vector."""
    known = [tuple(shape) for shape in shapes]
    ends = accumulate(map(prod, known), initial=0)
    return tuple((slice(*ends), shape) for ends, shape in zip(pairwise(ends), known, strict=True))


@dataclass(frozen=True, eq=False)
class Block:
    """Block of n clients, in descending order of their numbers of steps, with buffers for their vectors.

    Attributes:
        n: largest number of clients for which the block has memory.
        left: number of clients that have local steps left; rows of other clients are neither read nor written.
        parts: the parts of the model, in order.
        layerwise: True if a vector is stored part by part; False: client by client.
        memory: function that returns an uninitialised vector, by its name.
    """

    n: int
    left: int
    parts: tuple[Part, ...]
    layerwise: bool
    memory: Callable[[str], Tensor]

    def first(self, left: int) -> Block:
        """Return this block restricted to the first ``left`` clients, which have steps left."""
        return self if left == self.left else replace(self, left=left)

    def zeros(self, name: str) -> Tensor:
        """Return the vector of that name, filled with zeros."""
        return self.memory(name).zero_()

    def part(self, v: Tensor, j: int) -> Tensor:
        """Return parameter j of the first ``left`` clients in a vector, as a view [left, ...] in its shape."""
        at, shape = self.parts[j]
        if not self.layerwise:
            return v[: self.left, at].view(self.left, *shape)
        begin, size = self.n * at.start, at.stop - at.start
        return v[begin : begin + self.left * size].view(self.left, *shape)

    def together(self, *vectors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """Yield the vectors' matching contiguous pieces: one piece, or, if clients are done, one for each parameter."""
        if not self.layerwise or self.left == self.n:
            yield tuple(v if self.layerwise else v[: self.left] for v in vectors)
            return
        for j in range(len(self.parts)):
            yield tuple(self.part(v, j) for v in vectors)

    def put(self, v: Tensor, rows: Stack) -> None:
        """Write a stack [n, d], or one vector [d] for all clients, to the block's vector v."""
        for j, (at, shape) in enumerate(self.parts):
            part: Any = rows[..., at]
            self.part(v, j).copy_(part.view(*part.shape[:-1], *shape))

    def stack(self, v: Tensor, out: Stack) -> Stack:
        """Copy the block's vector v to a stack [n, d]."""
        for j, (at, _) in enumerate(self.parts):
            out[:, at] = self.part(v, j).flatten(1)
        return out
