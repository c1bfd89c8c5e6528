"""Examples of torch Datasets, read one by one and stacked to the tensors that a federation trains on.

They are read when a client takes part, and nothing of them is kept: so a data set may be larger than memory, and a run
is the one on the same tensors, bit for bit. A transform is part of a Dataset and runs at each reading. One that draws
at random (augmentation) is refused: what a client sees would depend on how often it was asked before, and no run could
be repeated, resumed, or be the same on several ranks. To notice it, one example is read twice at each reading, and the
examples of a look once more; so a transform that draws seldom may be found late. One that draws from a generator seeded
with the example's number is a function of it and is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only
from torch.utils.data import DataLoader, Dataset

from fedspec.errors import PlanError, ShapeError
from fedspec_torch.data.examples import Examples, equal_or_nan, kind_of
from fedspec_torch.data.structures import Structure, flattened, plain
from fedspec_torch.refusals import DataError

LOOKS = 8
"""Largest number of clients from which an example is read when a federation is built."""


@dataclass(frozen=True, eq=False)
class Collated(Dataset[Any]):
    """Dataset of a DataLoader's examples, each passed alone through the DataLoader's ``collate_fn``."""

    loader: DataLoader[Any]

    def __len__(self) -> int:
        return len(self.loader.dataset)  # type: ignore[arg-type]

    def __getitem__(self, at: int) -> Any:
        batch = plain(self.loader.collate_fn([self.loader.dataset[at]]))
        return tree_map_only(Tensor, lambda part: part[0] if part.ndim else part, batch)


@dataclass(frozen=True, eq=False)
class Reader:
    """Callable that reads all examples of client i from a Dataset.

    Attributes:
        sources: each client's Dataset; all clients may share the same Dataset.
        parts: the indices, in its Dataset, of each client's examples.
        keys: the keys of inputs and targets, if an example is a dict.
    """

    sources: Sequence[Any]
    parts: Sequence[Sequence[int]]
    keys: tuple[str, str] | None

    @cached_property
    def examples(self) -> tuple[int, ...]:
        """n_i of every client."""
        return tuple(map(len, self.parts))

    @cached_property
    def batch_size(self) -> int | None:
        """Minibatch size that all DataLoaders have; None if there is no DataLoader."""
        sizes = {source.loader.batch_size for source in self.sources if isinstance(source, Collated)}
        if len(sizes) > 1:
            raise PlanError(
                f"batch_size: the DataLoaders have different sizes, {sizes}; give one size, Federation(..., "
                "batch_size=...)"
            )
        return next(iter(sizes), None)

    @cached_property
    def _first(self) -> tuple[Examples, Structure]:
        return self._read(0, int(self.parts[0][0]))

    @property
    def structure(self) -> Structure:
        """Structure of client 0's first example, which all examples have."""
        return self._first[1]

    def look(self) -> None:
        """Read the first example of some clients twice, and raise an error if it is unusable.

        Raises:
            ShapeError: an example has an entry that is no tensor, or two examples differ in structure, shape or type.
            DataError: an example changes when it is read a second time.
        """
        count = len(self.parts)
        for i in range(0, count, -(-count // LOOKS)):
            at = int(self.parts[i][0])
            self._check_again(i, at, tuple(part.clone() for part in self._fitting(i, at)))

    def __call__(self, i: int) -> Any:
        """Return all examples of client i as one batch.

        Raises:
            ShapeError: an example differs in structure, shape or type from the first example.
            DataError: an example changes when it is read a second time.
        """
        numbers = [int(at) for at in self.parts[i]]
        leaves = tuple(part.new_empty((len(numbers), *part.shape)) for part in self._first[0])
        for at, *rows in zip(numbers, *leaves, strict=True):
            # A Dataset may read every example into the same memory: each is copied before the next is asked for.
            for row, part in zip(rows, self._fitting(i, at), strict=True):
                row.copy_(part)
        k = i % len(numbers)
        self._check_again(i, numbers[k], tuple(part[k] for part in leaves))
        return self.structure.tree(leaves)

    def ends(self, i: int) -> Examples:
        """Return the first and the last example of client i."""
        both = [[part.clone() for part in self._fitting(i, int(self.parts[i][at]))] for at in (0, -1)]
        return tuple(map(torch.stack, zip(*both, strict=True)))

    def _read(self, i: int, at: int, like: Structure | None = None) -> tuple[Examples, Structure]:
        """Tensors of one example, maybe in memory that the next one is read into.

        Raises:
            ShapeError: the example has an entry that is no tensor.
        """
        where = f"client {i}, example {at}"
        try:
            found = self.sources[i][at]
        except Exception as error:
            # It stays what it is: a file that cannot be read now may be read later.
            error.add_note(f"data: while {where} was read")
            raise
        if self.keys is not None:
            found = self._named(where, self.keys, found)
        return flattened(f"data: {where}", found, like, partial(_tensor, where))

    def _named(self, where: str, keys: tuple[str, str], found: Any) -> tuple[Any, Any]:
        if not isinstance(found, Mapping):
            raise ShapeError(
                f"data: {where} is a {type(found).__name__}, but keys={keys} select entries of dicts; leave keys out"
            )
        for key in keys:
            if key not in found:
                there = ", ".join(map(str, found))
                raise ShapeError(
                    f"data: {where} has no entry {key!r}; its entries are {there}; name two of them by keys="
                )
        return found[keys[0]], found[keys[1]]

    def _fitting(self, i: int, at: int) -> Examples:
        leaves, _ = self._read(i, at, self.structure)
        for what, part, other in zip(self.structure.tensors, leaves, self._first[0], strict=True):
            if part.shape != other.shape or part.dtype != other.dtype:
                raise ShapeError(
                    f"data: client {i}, example {at} has {what} {tuple(part.shape)} {part.dtype}, but client 0's first "
                    f"example has {tuple(other.shape)} {other.dtype}; give all examples one shape and type (pad, "
                    "resize or convert them; a collate_fn must pad to a fixed length, not to the longest example of a "
                    "batch)"
                )
        return leaves

    def _check_again(self, i: int, at: int, had: Examples) -> None:
        has, _ = self._read(i, at, self.structure)
        for what, one, other in zip(self.structure.tensors, had, has, strict=True):
            if not equal_or_nan(one, other):
                raise DataError(
                    f"data: client {i}, example {at} has different {what} when it is read again, as with random "
                    "augmentation; leave the augmentation out, or seed its generator with the example's number"
                )


def _tensor(where: str, what: str, value: Any) -> Tensor:
    """Convert an entry of a Dataset to a tensor of torch.tensor's type; lists of numbers are one tensor."""
    try:
        if isinstance(value, Tensor):
            if kind := kind_of(value):
                raise ShapeError(
                    f"data: {where} has {what} that are {kind}; "
                    f"give a plain tensor that holds every number (to_dense, pad)"
                )
            plain = type(value) is Tensor and not value.requires_grad
            return value if plain else value.detach().as_subclass(Tensor)
        if isinstance(value, np.ndarray | np.generic):
            return torch.from_numpy(np.array(value))
        if isinstance(value, bool | int | float | complex | list | tuple):
            return torch.tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, ShapeError):
            raise
        why = f" ({error})"
    else:
        why = ""
    raise ShapeError(
        f"data: {where} has {what} of type {type(value).__name__}{why}; give a tensor, an array or numbers of one "
        f"shape (for example by a transform or a tokenizer), or leave {what} out"
    )
