"""Labels of examples, by which a data set is split over clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Int, Shaped
from torch import Tensor

from fedspec.arith import Array
from fedspec.errors import ShapeError

Indices: TypeAlias = Int[Array, "n_i"]
"""Indices of a client's examples."""

Labels: TypeAlias = Shaped[Array, "n"] | Sequence[Any] | Tensor
"""Number or name of each example."""


def kinds_of(what: str, labels: Labels) -> tuple[Int[Array, "n"], Shaped[Array, "kinds"]]:
    """Return the class number of each example's label, and the sorted distinct labels.

    Raises:
        ShapeError: ``labels`` doesn't have exactly one number or name for each example.
    """
    try:
        given = np.asarray(labels.detach().cpu() if isinstance(labels, Tensor) else labels)
    except ValueError as error:
        raise ShapeError(
            f"{what}: got {type(labels).__name__}; give one number or name for each example ({error})"
        ) from error
    if given.ndim != 1 or not len(given):
        raise ShapeError(
            f"{what}: got shape {given.shape}; give one number or name for each example (use argmax on one-hot vectors)"
        )
    # What is no number is not equal to itself.
    none = [k for k, label in enumerate(given.tolist()) if label is None or label != label]
    if none:
        raise ShapeError(f"{what}: example {none[0]} has no value; leave it out")
    try:
        names, kinds = np.unique(given, return_inverse=True)
    except TypeError as error:
        raise ShapeError(f"{what}: got several types; give numbers or names ({error})") from error
    return kinds, names
