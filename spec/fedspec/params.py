"""Models as named blocks, their flat vectors, and the conversion between both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from numbers import Integral

import numpy as np

from fedspec.arith import Array, Vector, check_array
from fedspec.errors import ShapeError

LARGEST = 2**48
"""Largest number of coordinates of a block; larger blocks exceed a machine's address space."""


def is_whole(n: object) -> bool:
    """True for an integer that is not a bool."""
    # What nearly all are is answered first.
    return n.__class__ is int or (isinstance(n, Integral) and not isinstance(n, bool))


def size(name: str, shape: Sequence[int]) -> int:
    """Number of coordinates of a block of that shape.

    Raises:
        ShapeError: a length is negative or not a whole number, or the block has more coordinates than an array can
            have.
    """
    for length in shape:
        if not is_whole(length) or length < 0:
            raise ShapeError(f"{name}: shape {tuple(shape)}; lengths are whole numbers >= 0")
    # Also where another length is 0, since NumPy makes no such array.
    if prod([length for length in shape if length]) > LARGEST:
        raise ShapeError(f"{name}: shape {tuple(shape)}; a block has at most 2^48 coordinates")
    return prod(shape)


def flatten(blocks: Mapping[str, Array]) -> Vector:
    """Concatenate all blocks to one vector: in the order of the mapping, each in row-major order.

    Raises:
        ShapeError: the model has no block.
    """
    if not blocks:
        raise ShapeError("x: the model has no blocks; give at least one")
    return np.concatenate([np.asarray(a).ravel() for a in blocks.values()])


def unflatten(x: Vector, like: Mapping[str, Array]) -> dict[str, Array]:
    """Split a flat vector into blocks with the names and shapes of ``like``.

    Raises:
        ShapeError: the vector has another length than all blocks of ``like`` together.
    """
    check_array("x", x)
    sizes = [a.size for a in like.values()]
    if x.shape != (sum(sizes),):
        raise ShapeError(f"x: shape {x.shape}; the blocks {shapes(like)} need a vector of length {sum(sizes)}")
    starts = np.cumsum([0, *sizes])
    return {
        name: x[start : start + a.size].reshape(a.shape) for (name, a), start in zip(like.items(), starts, strict=False)
    }


def layers(shapes: Mapping[str, Sequence[int]]) -> tuple[slice, ...]:
    """Slice of each block in the flat vector, in order.

    Raises:
        ShapeError: a length in a shape isn't a whole number >= 0.
    """
    # Whole numbers in Python: where layers lie is nothing that a tracer should compute.
    ends = [*accumulate(size(name, shape) for name, shape in shapes.items())]
    return tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False))


def check_layers(layers: Sequence[slice], d: int) -> None:
    """Raise ShapeError unless the slices partition the coordinates 0..d-1 in order.

    Raises:
        ShapeError: a coordinate lies in no layer, or in two layers.
    """
    found = [layer.indices(d) for layer in layers]
    ends = [0, *(stop for _, stop, _ in found)]
    if [(start, step) for start, _, step in found] != [(end, 1) for end in ends[:-1]] or ends[-1] != d:
        raise ShapeError(
            f"layers: {layers} do not divide the coordinates 0..{d - 1}; give consecutive slices that cover all of them"
        )


def matrices(shapes: Sequence[Sequence[int]], d: int) -> list[tuple[slice, tuple[int, int]]]:
    """Slice of each block in the flat vector, with the block's numbers of rows and columns.

    Raises:
        ShapeError: a block doesn't have two axes, or the blocks together don't have d coordinates.
    """
    for shape in shapes:
        if len(shape) != 2:
            raise ShapeError(
                f"shapes: got a block of shape {tuple(shape)}; this rule needs matrices, so give blocks with two axes, "
                f"and train biases, scales and embeddings with another optimiser"
            )
    found = layers({str(j): shape for j, shape in enumerate(shapes)})
    if sum(l.stop - l.start for l in found) != d:
        raise ShapeError(
            f"shapes: {tuple(shapes)} do not divide the coordinates 0..{d - 1}; give the shape of every block"
        )
    return [(l, (rows, columns)) for l, (rows, columns) in zip(found, shapes, strict=True)]


def shapes(blocks: Mapping[str, Array]) -> dict[str, Sequence[int]]:
    """The shapes of the blocks, by name."""
    return {name: a.shape for name, a in blocks.items()}
