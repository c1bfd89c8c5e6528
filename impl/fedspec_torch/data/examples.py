"""Clients' examples as tensors, and the pools that hold or generate them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from fedspec.arith import Array
from fedspec.errors import PlanError, ShapeError
from fedspec_torch.arith import check_whole
from fedspec_torch.data.structures import Structure, flattened
from fedspec_torch.refusals import DataError

IGNORED = -100
"""Default target class that cross-entropy ignores (``ignore_index``)."""

Examples: TypeAlias = tuple[Tensor, ...]
"""Tensors [n_i, ...] of a client or of a minibatch, in the order of their structure; for example inputs, targets."""


@dataclass(frozen=True, eq=False)
class Minibatch:
    """Minibatches of n clients, b examples each, with the seeds and running statistics that the module's call needs.

    Attributes:
        leaves: [n, b, ...] the tensors of the minibatches, such as inputs and targets.
        seeds: [n] seeds of the module's random draws; empty: the module draws nothing.
        statistics: [n, b'] running statistics before the call, which the call overwrites with the new ones; None: the
            module has none, or they aren't needed.
    """

    leaves: Examples
    seeds: Sequence[int] = field(default=(), kw_only=True)
    statistics: Tensor | None = field(default=None, kw_only=True)

    def alone(self, j: int) -> Minibatch:
        """Return the minibatch of client j: a view of the examples, a copy of the statistics."""
        moved = None if self.statistics is None else self.statistics[j : j + 1].clone()
        own = tuple(part[j : j + 1] for part in self.leaves)
        return Minibatch(own, seeds=self.seeds[j : j + 1], statistics=moved)

    def copied(self, rows: Sequence[int]) -> Minibatch:
        """Return copies of the minibatches of the clients in these rows."""
        own = tuple(part[rows].clone() for part in self.leaves)
        moved = None if self.statistics is None else self.statistics[rows].clone()
        seeds = [self.seeds[r] for r in rows] if self.seeds else ()
        return Minibatch(own, seeds=seeds, statistics=moved)


class Pool(Protocol):
    """Source of the clients' examples."""

    @property
    def examples(self) -> Sequence[int]:
        """n_i of every client."""
        ...

    @property
    def structure(self) -> Structure | None:
        """Structure of every client's examples; None until a client is read."""
        ...

    def of(self, clients: Sequence[int]) -> tuple[Examples, Array]:
        """Return tensors that contain these clients' examples, and the index of each client's first example."""
        ...


@dataclass(frozen=True, eq=False)
class Held:
    """Pool that keeps the examples of all clients in memory.

    Raises:
        ShapeError: the tensors of a client differ in number, a client has none, or two clients' examples differ in
            structure, shape or type.
    """

    data: Sequence[Any]

    def __post_init__(self) -> None:
        if not self.data:
            raise ShapeError("data: no client; give one pair (inputs, targets) for each")
        _ = self.leaves

    @cached_property
    def structure(self) -> Structure:
        """Structure of every client's examples."""
        return flattened("data: client 0", self.data[0])[1]

    @cached_property
    def leaves(self) -> list[Examples]:
        """Tensors of every client."""
        found: list[Examples] = []
        for i, batch in enumerate(self.data):
            found.append(checked_examples(f"data: client {i}", batch, self.structure, found)[0])
        return found

    @cached_property
    def examples(self) -> tuple[int, ...]:
        """n_i of every client."""
        return tuple(len(leaves[0]) for leaves in self.leaves)

    @cached_property
    def is_even(self) -> bool:
        """True if all clients have equal numbers of examples."""
        return len(set(self.examples)) == 1

    @cached_property
    def ignores(self) -> bool:
        """True if any target of any client is the class that cross-entropy ignores."""
        return has_ignored(self._joined[0][-1])

    @cached_property
    def _joined(self) -> tuple[Examples, Array]:
        leaves = tuple(torch.cat([part.detach() for part in parts]) for parts in zip(*self.leaves, strict=True))
        return leaves, np.cumsum([0, *self.examples[:-1]])

    def of(self, clients: Sequence[int]) -> tuple[Examples, Array]:
        """Return all examples, and the index of each of these clients' first example."""
        leaves, starts = self._joined
        return leaves, starts[list(clients)]


@dataclass(eq=False)
class GeneratedPool:
    """Pool that calls a function for a client's examples whenever the client takes part, and keeps none.

    Attributes:
        make: function that returns the batch of all examples of a client, from the client's number.
        examples: number of examples n_i of every client.
        device: the device on which the examples are needed.
        source: description of the source of the examples, for messages.
        structure: the structure of the batches, once it is known.
    """

    make: Callable[[int], Any]
    examples: Sequence[int]
    device: torch.device
    source: str = "the function"
    structure: Structure | None = None

    def of(self, clients: Sequence[int]) -> tuple[Examples, Array]:
        """Generate these clients' examples, and return them joined, with the index of each client's first example.

        Raises:
            ShapeError: the clients' examples differ in structure, shape or type, or a client has another number of
                examples than ``examples`` lists.
        """
        starts = np.cumsum([0, *(self.examples[i] for i in clients)])
        joined: Examples = ()
        for i, start in zip(clients, starts, strict=False):
            leaves, self.structure = checked_examples(f"data: client {i}", self.make(i), self.structure, [joined])
            if len(leaves[0]) != self.examples[i]:
                raise ShapeError(
                    f"data: client {i} has {len(leaves[0])} examples, but examples= declares {self.examples[i]}; make "
                    "the two agree"
                )
            joined = joined or tuple(part.detach().new_empty((int(starts[-1]), *part.shape[1:])) for part in leaves)
            # Copied before the next is asked for: a function may read every client into the same memory.
            for whole, part in zip(joined, leaves, strict=True):
                whole[start : start + len(part)] = part.detach()
        return tuple(whole.to(self.device) for whole in joined), starts[:-1]


def examples_of(pool: Pool, i: int) -> Examples:
    """Return all examples of client i."""
    leaves, starts = pool.of([i])
    rows = slice(int(starts[0]), int(starts[0]) + pool.examples[i])
    return tuple(part[rows] for part in leaves)


def equal_or_nan(one: Tensor, other: Tensor) -> bool:
    """True if two tensors are equal; NaN equals NaN at the same place."""
    return torch.equal(one, other) or torch.equal(one.nan_to_num(), other.nan_to_num())


def check_again(i: int, names: Sequence[str], had: Examples, has: Examples, source: str) -> None:
    """Raise an error if a client's examples differ when they are generated again: such a run isn't repeatable.

    Raises:
        DataError: a client's examples differ; the message has the client's number.
    """
    for what, one, other in zip(names, had, has, strict=True):
        if not equal_or_nan(one, other):
            raise DataError(
                f"data: client {i} has different {what} when {source} is called again in the same round; make them a "
                "function of the client's number alone (seed a generator with it), or give a list"
            )


def finite(part: Tensor) -> Tensor:
    """[n] for each example, True if all its numbers are finite."""
    return part.isfinite().reshape(len(part), -1).all(1)


def without_number(pool: Pool, who: Sequence[int]) -> str:
    """Name the clients with non-finite examples: of all clients if data are in memory, else of ``who``."""
    found: list[str] = []
    for i in range(len(pool.examples)) if isinstance(pool, Held) else who:
        clean = torch.stack([finite(part) for part in examples_of(pool, i)]).all(0)
        if not bool(clean.all()):
            k, parts = int((~clean).nonzero()[0]), getattr(getattr(pool, "make", None), "parts", None)
            found.append(f"{i} (first its number {int(parts[i][k]) if parts else k})")
    some = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
    return f"client{'s' * (len(found) > 1)} {some}" if found else ""


def kind_of(part: Tensor) -> str:
    """Return why a tensor isn't a plain dense one: "nested", "meta" or its sparse layout; "" if it is plain."""
    if part.layout is torch.strided and not part.is_nested and not part.is_meta:
        return ""
    return "nested" if part.is_nested else "meta" if part.is_meta else str(part.layout).removeprefix("torch.")


def has_ignored(targets: Tensor) -> bool:
    """True if a target is the class that cross-entropy ignores."""
    return not targets.is_floating_point() and bool((targets == IGNORED).any())


def check_counts(examples: Any) -> None:
    """Raise an error unless ``examples`` lists a positive integer for every client.

    Raises:
        PlanError: ``examples`` is missing, or a number isn't a positive integer.
    """
    if isinstance(examples, str) or not isinstance(examples, Sequence | np.ndarray) or not len(examples):
        raise PlanError(
            f"examples: got {examples!r}; if data is a function, list every client's number of examples here"
        )
    for i, count in enumerate(examples):
        # A million of them may be said.
        if type(count) is not int or count < 1:
            check_whole(f"examples[{i}]", count, "leave out clients that have none")


def checked_examples(
    who: str, batch: Any, like: Structure | None, others: Sequence[Examples] = ()
) -> tuple[Examples, Structure]:
    """Return a batch's tensors and structure, checked against ``like`` and against the first batch of ``others``.

    Raises:
        ShapeError: the tensors differ in number, shape or type, or there is no example; the message begins with the
            owner of the batch.
    """
    leaves, structure = flattened(who, batch, like)
    names = structure.tensors
    for what, part in zip(names, leaves, strict=True):
        if kind := kind_of(part):
            raise ShapeError(
                f"{who} has {what} that are {kind}; give a plain tensor that holds every number (to_dense, pad)"
            )
    if not all(part.ndim and len(part) == len(leaves[0]) for part in leaves):
        shapes = " and ".join(f"{what} {tuple(part.shape)}" for what, part in zip(names, leaves, strict=True))
        raise ShapeError(
            f"{who} has {shapes}; the first axis of each tensor counts examples, so these axes must be equal (expand)"
        )
    if not len(leaves[0]):
        raise ShapeError(f"{who} has no example; leave it out")
    for what, part, other in zip(names, leaves, (others and others[0]) or leaves, strict=True):
        if part.shape[1:] != other.shape[1:] or part.dtype != other.dtype:
            raise ShapeError(
                f"data: an example of {who.removeprefix('data: ')} has {what} {tuple(part.shape[1:])} {part.dtype}, "
                f"but one of another client has {tuple(other.shape[1:])} {other.dtype}; give all examples one shape "
                "and type (pad or resize)"
            )
    return leaves, structure
