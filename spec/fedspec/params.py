"""A model as named blocks, its flat view, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from fedspec.arith import Array, Vector
from fedspec.errors import ShapeError


def flatten(blocks: Mapping[str, Array]) -> Vector:
    """All blocks as one vector: in the order of the mapping, each in row-major order."""
    return np.concatenate([np.ravel(np.asarray(a)) for a in blocks.values()])


def unflatten(x: Vector, like: Mapping[str, Array]) -> dict[str, Array]:
    """The blocks of a flat vector, named and shaped as in ``like``.

    Raises:
        ShapeError: the vector has another length than all blocks of ``like`` together.
    """
    sizes = [a.size for a in like.values()]
    if x.shape != (sum(sizes),):
        raise ShapeError(f"x: shape {x.shape}; the blocks {shapes(like)} need a vector of length {sum(sizes)}")
    starts = np.cumsum([0, *sizes])
    return {
        name: x[start : start + a.size].reshape(a.shape) for (name, a), start in zip(like.items(), starts, strict=False)
    }


def layers(shapes: Mapping[str, Sequence[int]]) -> tuple[slice, ...]:
    """Where each block lies in the flat view, in order."""
    ends = np.cumsum([prod(shape) for shape in shapes.values()]).tolist()
    return tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False))


def check_layers(layers: Sequence[slice], d: int) -> None:
    """Refuse layers that do not divide the coordinates in their order.

    Raises:
        ShapeError: a coordinate lies in no layer, or in two.
    """
    found = [layer.indices(d) for layer in layers]
    ends = [0, *(stop for _, stop, _ in found)]
    if [(start, step) for start, _, step in found] != [(end, 1) for end in ends[:-1]] or ends[-1] != d:
        raise ShapeError(f"layers: {layers} do not divide the coordinates 0..{d - 1}; give one slice after the other")


def shapes(blocks: Mapping[str, Array]) -> dict[str, Sequence[int]]:
    """The shapes of the blocks, by name."""
    return {name: a.shape for name, a in blocks.items()}
