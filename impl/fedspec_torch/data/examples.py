"""The clients' examples, and where they come from."""

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
from fedspec_torch.refusals import DataError

IGNORED = -100
"""The class of an example that cross-entropy leaves out where nobody says otherwise."""

Examples: TypeAlias = tuple[Tensor, Tensor]
"""Inputs [n_i, ...] and targets [n_i, ...] of one client."""


@dataclass(frozen=True, eq=False)
class Minibatch:
    """The minibatches of n clients, of b examples each, and what a call of the module depends on or moves beside them.

    Attributes:
        inputs: [n, b, ...].
        targets: [n, b, ...].
        seeds: [n] of what is drawn; empty: nothing is.
        statistics: [n, b'] running statistics before the call, over which those after it are written; None: there are
            none, or nobody wants them.
    """

    inputs: Tensor
    targets: Tensor
    seeds: Sequence[int] = field(default=(), kw_only=True)
    statistics: Tensor | None = field(default=None, kw_only=True)

    def alone(self, j: int) -> Minibatch:
        """Minibatch of a single client, as a view."""
        moved = None if self.statistics is None else self.statistics[j : j + 1].clone()
        pair = (part[j : j + 1] for part in (self.inputs, self.targets))
        return Minibatch(*pair, seeds=self.seeds[j : j + 1], statistics=moved)

    def copied(self, rows: Sequence[int]) -> Minibatch:
        """Minibatches of some clients, copied."""
        own = [part[rows].clone() for part in (self.inputs, self.targets)]
        moved = None if self.statistics is None else self.statistics[rows].clone()
        seeds = [self.seeds[r] for r in rows] if self.seeds else ()
        return Minibatch(*own, seeds=seeds, statistics=moved)


class Pool(Protocol):
    """A source of examples."""

    @property
    def examples(self) -> Sequence[int]:
        """n_i of every client."""
        ...

    def of(self, clients: Sequence[int]) -> tuple[Tensor, Tensor, Array]:
        """Inputs and targets of some clients one below the other, maybe among others', and where each one's begin."""
        ...


@dataclass(frozen=True, eq=False)
class Held:
    """The examples of all clients in memory.

    Raises:
        ShapeError: inputs and targets of a client differ in number, a client has none, or two clients' examples differ
            in shape or type.
    """

    data: Sequence[Examples]

    def __post_init__(self) -> None:
        if not self.data:
            raise ShapeError("data: no client; give one pair (inputs, targets) for each")
        for i, pair in enumerate(self.data):
            check_examples(i, pair, like=self.data[0])

    @cached_property
    def examples(self) -> tuple[int, ...]:
        """n_i of every client."""
        return tuple(len(inputs) for inputs, _ in self.data)

    @cached_property
    def is_even(self) -> bool:
        """True if all clients have equally many examples."""
        return len(set(self.examples)) == 1

    @cached_property
    def ignores(self) -> bool:
        """True if cross-entropy ignores an example of a client."""
        return has_ignored(self._joined[1])

    @cached_property
    def _joined(self) -> tuple[Tensor, Tensor, Array]:
        inputs, targets = (torch.cat([pair[j].detach() for pair in self.data]) for j in (0, 1))
        return inputs, targets, np.cumsum([0, *self.examples[:-1]])

    def of(self, clients: Sequence[int]) -> tuple[Tensor, Tensor, Array]:
        """All examples, and the first index of each of these clients."""
        inputs, targets, starts = self._joined
        return inputs, targets, starts[list(clients)]


@dataclass(frozen=True, eq=False)
class GeneratedPool:
    """Examples that a function makes or reads when a client takes part; nothing is kept.

    Attributes:
        make: inputs and targets of a client, from its number.
        examples: n_i of every client.
        device: where they are needed.
        source: what they come from, in words.
    """

    make: Callable[[int], Examples]
    examples: Sequence[int]
    device: torch.device
    source: str = "the function"

    def of(self, clients: Sequence[int]) -> tuple[Tensor, Tensor, Array]:
        """The examples of these clients, and where those of each begin.

        Raises:
            ShapeError: they do not fit together, or a client has other than it was said to have.
        """
        starts = np.cumsum([0, *(self.examples[i] for i in clients)])
        joined: list[Tensor] = []
        for i, start in zip(clients, starts, strict=False):
            pair = self.make(i)
            check_examples(i, pair, like=joined or pair)
            if len(pair[0]) != self.examples[i]:
                raise ShapeError(f"data: client {i} has {len(pair[0])} examples, not {self.examples[i]} as was said")
            joined = joined or [part.detach().new_empty((int(starts[-1]), *part.shape[1:])) for part in pair]
            # Copied before the next is asked for: a function may read every client into the same memory.
            for whole, part in zip(joined, pair, strict=True):
                whole[start : start + len(part)] = part.detach()
        inputs, targets = (whole.to(self.device) for whole in joined)
        return inputs, targets, starts[:-1]


def examples_of(pool: Pool, i: int) -> Examples:
    """All examples of a client."""
    inputs, targets, starts = pool.of([i])
    rows = slice(int(starts[0]), int(starts[0]) + pool.examples[i])
    return inputs[rows], targets[rows]


def equal_or_nan(one: Tensor, other: Tensor) -> bool:
    """True if two tensors are equal; NaN equals NaN in the same places."""
    return torch.equal(one, other) or torch.equal(one.nan_to_num(), other.nan_to_num())


def check_again(i: int, had: Sequence[Tensor], has: Sequence[Tensor], source: str) -> None:
    """Refuse what gives a client others when it is asked again: no run could be repeated or resumed.

    Raises:
        DataError: with the client's number.
    """
    for what, one, other in zip(("inputs", "targets"), had, has, strict=True):
        if not equal_or_nan(one, other):
            raise DataError(
                f"data: client {i} has other {what} when {source} is asked again in the same round; make them from "
                f"the client's number alone (a generator seeded with it), or give a list"
            )


def finite(part: Tensor) -> Tensor:
    """[n] of each example whether it has finite numbers alone."""
    return part.isfinite().reshape(len(part), -1).all(1)


def without_number(pool: Pool, who: Sequence[int]) -> str:
    """Name clients with examples that are not finite; of clients out of memory, look at these alone."""
    found: list[str] = []
    for i in range(len(pool.examples)) if isinstance(pool, Held) else who:
        inputs, targets = examples_of(pool, i)
        clean = finite(inputs) & finite(targets)
        if not bool(clean.all()):
            k, parts = int((~clean).nonzero()[0]), getattr(getattr(pool, "make", None), "parts", None)
            found.append(f"{i} (first its number {int(parts[i][k]) if parts else k})")
    some = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
    return f"client{'s' * (len(found) > 1)} {some}" if found else ""


def kind_of(part: Tensor) -> str:
    """Kind of a tensor without plain numbers in memory: nested, meta, or a sparse layout; else empty."""
    if part.layout is torch.strided and not part.is_nested and not part.is_meta:
        return ""
    return "nested" if part.is_nested else "meta" if part.is_meta else str(part.layout).removeprefix("torch.")


def has_ignored(targets: Tensor) -> bool:
    """True if cross-entropy ignores an example."""
    return not targets.is_floating_point() and bool((targets == IGNORED).any())


def check_counts(examples: Any) -> None:
    """Refuse what does not say how many examples every client has.

    Raises:
        PlanError: nothing is said, or a number is no whole one.
    """
    if isinstance(examples, str) or not isinstance(examples, Sequence | np.ndarray) or not len(examples):
        raise PlanError(
            f"examples: got {examples!r}; data is a function, so say how many examples every client has, in a list"
        )
    for i, count in enumerate(examples):
        # A million of them may be said.
        if type(count) is not int or count < 1:
            check_whole(f"examples[{i}]", count, "leave out clients that have none")


def check_examples(i: int, pair: Any, like: Any) -> None:
    """Refuse what is no pair of equally many inputs and targets, is empty, or differs in shape from another client's.

    Raises:
        ShapeError: with the client's number.
    """
    if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(part, Tensor) for part in pair)):
        got = type(pair).__name__
        if isinstance(pair, tuple | list):
            got += f" of {', '.join(type(part).__name__ for part in pair)}"
        raise ShapeError(f"data: client {i} is {got}; give a tuple (inputs, targets) of two tensors")
    inputs, targets = pair
    for what, part in (("inputs", inputs), ("targets", targets)):
        if kind := kind_of(part):
            raise ShapeError(
                f"data: client {i} has {what} that are {kind}; "
                f"give a plain tensor that holds every number (to_dense, pad)"
            )
    if not (inputs.ndim and targets.ndim and len(inputs) == len(targets)):
        raise ShapeError(
            f"data: client {i} has inputs {tuple(inputs.shape)} and targets {tuple(targets.shape)}; "
            f"the first axis of both counts its examples"
        )
    if not len(inputs):
        raise ShapeError(f"data: client {i} has no example; leave it out of the federation")
    for what, part, other in (("inputs", inputs, like[0]), ("targets", targets, like[1])):
        if part.shape[1:] != other.shape[1:] or part.dtype != other.dtype:
            raise ShapeError(
                f"data: an example of client {i} has {what} {tuple(part.shape[1:])} {part.dtype}, of another client "
                f"{tuple(other.shape[1:])} {other.dtype}; all examples have one shape and type (pad or resize them)"
            )
