"""Examples that Datasets give one by one, as the tensors that a federation trains on.

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
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedspec.errors import ShapeError
from fedspec_torch.data.examples import Examples, equal_or_nan, kind_of
from fedspec_torch.refusals import DataError

PARTS = ("inputs", "targets")
LOOKS = 8
"""Most clients of which an example is read when a federation is made."""


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads all examples of a client from a Dataset, when it is called with the client's number.

    Attributes:
        sources: each client's Dataset; of all clients it may be one.
        parts: which of its examples each client has, by the numbers that the Dataset knows them by.
        keys: what inputs and targets are called, where an example is a dict.
    """

    sources: Sequence[Any]
    parts: Sequence[Sequence[int]]
    keys: tuple[str, str] | None

    @cached_property
    def examples(self) -> tuple[int, ...]:
        """n_i of every client."""
        return tuple(map(len, self.parts))

    @cached_property
    def like(self) -> Examples:
        """The first example of client 0, of which shape and type are read: all others have them too."""
        return self.example(0, int(self.parts[0][0]))

    def look(self) -> None:
        """Refuse what shows in the first examples of some clients, each read twice.

        Raises:
            ShapeError: one is no pair of tensors, or differs in shape or type.
            DataError: one is another when it is read again.
        """
        count = len(self.parts)
        for i in range(0, count, -(-count // LOOKS)):
            at = int(self.parts[i][0])
            inputs, targets = self._fitting(i, at)
            self._check_again(i, at, (inputs.clone(), targets.clone()))

    def __call__(self, i: int) -> Examples:
        """Inputs [n_i, ...] and targets [n_i, ...] of a client.

        Raises:
            ShapeError: an example is no pair of tensors, or differs in shape or type from the first of all.
            DataError: one of them is another when it is read again.
        """
        numbers = [int(at) for at in self.parts[i]]
        inputs, targets = (part.new_empty((len(numbers), *part.shape)) for part in self.like)
        for at, *rows in zip(numbers, inputs.unbind(), targets.unbind(), strict=True):
            # A Dataset may read every example into the same memory: each is copied before the next is asked for.
            for row, part in zip(rows, self._fitting(i, at), strict=True):
                row.copy_(part)
        k = i % len(numbers)
        self._check_again(i, numbers[k], (inputs[k], targets[k]))
        return inputs, targets

    def ends(self, i: int) -> Examples:
        """The first and the last example of a client."""
        pairs = [[part.clone() for part in self._fitting(i, int(self.parts[i][at]))] for at in (0, -1)]
        inputs, targets = (torch.stack(part) for part in zip(*pairs, strict=True))
        return inputs, targets

    def example(self, i: int, at: int) -> Examples:
        """Inputs and target of one example, maybe in memory that the next one is read into.

        Raises:
            ShapeError: it is no pair of tensors.
        """
        where = f"client {i}, example {at}"
        try:
            found = self.sources[i][at]
        except Exception as error:
            # It stays what it is: a file that cannot be read now may be read later.
            error.add_note(f"data: while {where} was read")
            raise
        if isinstance(found, Mapping):
            found = self._named(where, found)
        elif self.keys is not None:
            raise ShapeError(f"data: {where} is {type(found).__name__}; keys={self.keys} are for dicts, leave them out")
        if not isinstance(found, tuple | list) or len(found) != 2:
            got = type(found).__name__ + (f" of {len(found)}" if isinstance(found, tuple | list) else "")
            raise ShapeError(f"data: {where} is {got}; give a pair (inputs, target) for each example")
        inputs, targets = (_tensor(where, what, part) for what, part in zip(PARTS, found, strict=True))
        return inputs, targets

    def _named(self, where: str, found: Mapping[Any, Any]) -> tuple[Any, Any]:
        there = ", ".join(map(str, found))
        if self.keys is None:
            raise ShapeError(
                f"data: {where} is a dict of {there}; say which are inputs and target, as in "
                f"keys={tuple(map(str, found))[:2]}"
            )
        for key in self.keys:
            if key not in found:
                raise ShapeError(f"data: {where} has no {key!r}; it has {there}, of which keys= names two")
        return found[self.keys[0]], found[self.keys[1]]

    def _fitting(self, i: int, at: int) -> Examples:
        pair = self.example(i, at)
        for what, part, other in zip(PARTS, pair, self.like, strict=True):
            if part.shape != other.shape or part.dtype != other.dtype:
                raise ShapeError(
                    f"data: client {i}, example {at} has {what} {tuple(part.shape)} {part.dtype}, the first of "
                    f"client 0 {tuple(other.shape)} {other.dtype}; all examples have one shape and type "
                    f"(pad, resize or convert them)"
                )
        return pair

    def _check_again(self, i: int, at: int, had: Examples) -> None:
        for what, one, other in zip(PARTS, had, self.example(i, at), strict=True):
            if not equal_or_nan(one, other):
                raise DataError(
                    f"data: client {i}, example {at} has other {what} when it is read again, as random augmentation "
                    f"gives; leave it out, or make what it draws a function of the example's number (a generator "
                    f"seeded with it)"
                )


def _tensor(where: str, what: str, value: Any) -> Tensor:
    """Convert an entry of a Dataset to a tensor of torch.tensor's type."""
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
        f"data: {where} has {what} that are {type(value).__name__}{why}; give a tensor, an array or numbers of one "
        f"shape, made by a transform say"
    )
