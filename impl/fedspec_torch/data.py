"""The clients' examples, and which of them a minibatch holds.

Nothing is drawn from a state that moves: the order of a client's examples in a round is a function of the seed, the
round and the client's number. So a batch does not depend on who else takes part, on how clients are put into blocks,
or on whether a run was stopped and resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from fedspec.arith import Array
from fedspec.errors import ShapeError
from fedspec.plan import check_clients

Examples: TypeAlias = tuple[Tensor, Tensor]
"""Inputs [n_i, ...] and targets [n_i, ...] of one client."""


@dataclass(frozen=True, eq=False)
class Minibatch:
    """The minibatches of n clients, of b examples each.

    Attributes:
        inputs: [n, b, ...].
        targets: [n, b, ...].
        across: the inputs as [n, features, b], where they are at hand in that order too.
    """

    inputs: Tensor
    targets: Tensor
    across: Tensor | None = None


class Pool(Protocol):
    """Where examples come from."""

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
    _across: dict[int, Tensor] = field(default_factory=dict, init=False, repr=False)

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
        """Whether all clients have equally many."""
        return len(set(self.examples)) == 1

    @cached_property
    def _joined(self) -> tuple[Tensor, Tensor, Array]:
        inputs, targets = (torch.cat([pair[j] for pair in self.data]) for j in (0, 1))
        return inputs, targets, np.cumsum([0, *self.examples[:-1]])

    def of(self, clients: Sequence[int]) -> tuple[Tensor, Tensor, Array]:
        """All examples, and where those of these clients begin."""
        inputs, targets, starts = self._joined
        return inputs, targets, starts[list(clients)]

    def across(self, size: int) -> Tensor:
        """[N, n_i / size, features, size] the inputs of all clients, who have equally many, in batches; made once.

        What is left over of n_i is not in it.
        """
        if size not in self._across:
            inputs, n = self._joined[0].reshape(len(self.data), self.examples[0], -1), self.examples[0] // size
            turned = inputs.new_empty(len(inputs), n, inputs.shape[2], size)
            for some, one in zip(turned, inputs, strict=True):
                for batch, examples in zip(some, one.split(size), strict=False):
                    batch.copy_(examples.mT)
            self._across.clear()
            self._across[size] = turned
        return self._across[size]


@dataclass(frozen=True, eq=False)
class Made:
    """Examples that a function makes or reads when a client takes part; nothing is kept.

    Attributes:
        make: inputs and targets of a client, from its number.
        examples: n_i of every client.
        device: where they are needed.
    """

    make: Callable[[int], Examples]
    examples: Sequence[int]
    device: torch.device

    def of(self, clients: Sequence[int]) -> tuple[Tensor, Tensor, Array]:
        """The examples of these clients, and where those of each begin.

        Raises:
            ShapeError: they do not fit together, or a client has other than it was said to have.
        """
        pairs = [self.make(i) for i in clients]
        for i, pair in zip(clients, pairs, strict=True):
            check_examples(i, pair, like=pairs[0])
            if len(pair[0]) != self.examples[i]:
                raise ShapeError(f"data: client {i} has {len(pair[0])} examples, not {self.examples[i]} as was said")
        inputs, targets = (torch.cat([pair[j] for pair in pairs]).to(self.device) for j in (0, 1))
        return inputs, targets, np.cumsum([0, *(len(pair[0]) for pair in pairs[:-1])])


def check_examples(i: int, pair: Any, like: Any) -> None:
    """Refuse what is no pair of equally many inputs and targets, is empty, or differs in shape from another client's.

    Raises:
        ShapeError: with the client's number.
    """
    if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(part, Tensor) for part in pair)):
        raise ShapeError(f"data: client {i} is {type(pair).__name__}; give a tuple (inputs, targets) of two tensors")
    inputs, targets = pair
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


@dataclass(frozen=True, eq=False)
class Batches:
    """The minibatches of some clients in one round: a walk through each client's examples in an order of its own.

    Step k takes the next ``size`` examples and begins again at the end of the order. Where ``size`` is None, or a
    client has no more than that, its batch is all it has, in the order it was given; so are all batches unless they
    are shuffled.

    Raises:
        PlanError: there is no such client.
    """

    pool: Pool
    clients: tuple[int, ...]
    size: int | None
    seed: int
    round: int
    shuffled: bool = True

    def __post_init__(self) -> None:
        check_clients("batches", self.clients, len(self.pool.examples))

    @cached_property
    def _found(self) -> tuple[Tensor, Tensor, Array]:
        return self.pool.of(self.clients)

    @cached_property
    def counts(self) -> Array:
        """[n] the sample sizes n_i."""
        return np.array([self.pool.examples[i] for i in self.clients])

    @cached_property
    def sizes(self) -> Array:
        """[n] how many examples a batch of each client holds."""
        return self.counts if self.size is None else np.minimum(self.counts, self.size)

    @cached_property
    def _order(self) -> Array:
        """[n, largest n_i] every client's order; beyond its n_i nothing of meaning."""
        places = np.arange(self.counts.max())
        if not self.shuffled:
            return np.broadcast_to(places, (len(self.counts), len(places)))
        keys = mixed(self.seed, self.round, np.array(self.clients)[:, None], places[None])
        whole = (self.sizes == self.counts)[:, None]
        keys = np.where(whole, places[None].astype(np.uint64), keys >> np.uint64(1))
        keys = np.where(places[None] < self.counts[:, None], keys, np.uint64(2**64 - 1))
        return np.argsort(keys, axis=1, kind="stable")

    def first(self, n: int) -> Batches:
        """Those of the first n clients alone; what is drawn for all of them is not drawn again."""
        if n == len(self.clients):
            return self
        some, (inputs, targets, starts), seen = replace(self, clients=self.clients[:n]), self._found, self._in_order
        vars(some).update(
            counts=self.counts[:n],
            sizes=self.sizes[:n],
            _found=(inputs, targets, starts[:n]),
            _order=self._order[:n],
            _in_order=seen and (seen[0][:n], seen[1][:n]),
            _numbers=self._numbers[:n],
            _memory=self._memory,
        )
        return some

    @cached_property
    def _in_order(self) -> tuple[Tensor, Tensor] | None:
        """[n, n_i, ...] inputs and targets, seen where they are: of neighbours with equally many, in their order."""
        n, (inputs, targets, starts) = int(self.counts[0]), self._found
        if (self.shuffled and (self.sizes != n).any()) or (np.diff(starts) != n).any() or (self.counts != n).any():
            return None
        every = slice(int(starts[0]), int(starts[0]) + n * len(starts))
        x, y = (part[every].reshape(len(starts), n, *part.shape[1:]) for part in (inputs, targets))
        return x, y

    def all_at(self, k: int, size: int, *, across: bool = False) -> Minibatch:
        """The batches of step k of all these clients, who have that batch size; without a copy where they allow it.

        Args:
            k: the step.
            size: of their batches.
            across: whether inputs are wanted features first too, where the pool has them.
        """
        if self._in_order is None or (first := k * size % int(self.counts[0])) + size > self.counts[0]:
            return self._of_even_pool(k, size, across) or Minibatch(*self.at(k, np.arange(len(self.clients)), size))
        x, y = (part[:, first : first + size] for part in self._in_order)
        if not (across and isinstance(self.pool, Held) and self.pool.is_even) or first % size:
            return Minibatch(x, y)
        i = self.clients[0]
        return Minibatch(x, y, self.pool.across(size)[i : i + len(self.clients), first // size])

    def _of_even_pool(self, k: int, size: int, across: bool) -> Minibatch | None:
        """Of clients here and there in their order, whose examples are whole batches: each batch is copied at once."""
        pool, n = self.pool, int(self.counts[0])
        if not isinstance(pool, Held) or not pool.is_even or n % size or (self.shuffled and n != size):
            return None
        at = self._numbers * (n // size) + k % (n // size)
        parts = [part.view(-1, size, *part.shape[1:]) for part in self._found[:2]]
        parts += [pool.across(size).flatten(0, 1)] if across else []
        self._memory.extend(part.new_empty(0) for part in parts[len(self._memory) :])
        # The batches of a step are gone at the next: they take the same memory, which is there already.
        some = [memory.resize_(len(at), *part.shape[1:]) for part, memory in zip(parts, self._memory, strict=False)]
        return Minibatch(*(torch.index_select(part, 0, at, out=out) for part, out in zip(parts, some, strict=True)))

    @cached_property
    def _numbers(self) -> Tensor:
        return torch.tensor(self.clients, device=self._found[0].device)

    @cached_property
    def _memory(self) -> list[Tensor]:
        return []

    def at(self, k: int, rows: Array, size: int) -> Examples:
        """The batches [rows, size, ...] of step k for the clients in these rows, all of that batch size."""
        inputs, targets, starts = self._found
        places = (k * size + np.arange(size))[None] % self.counts[rows, None]
        which = starts[rows, None] + np.take_along_axis(self._order[rows], places, 1)
        at = torch.from_numpy(which.reshape(-1)).to(inputs.device)
        # Several times as fast as indexing by a table.
        x, y = (part.index_select(0, at).reshape(len(rows), size, *part.shape[1:]) for part in (inputs, targets))
        return x, y


def mixed(*words: Any) -> Array:
    """Integers that look random and are a function of these words alone (SplitMix64, Steele et al. 2014)."""
    state: Any = np.uint64(0)
    with np.errstate(over="ignore"):
        for word in words:
            z = (np.asarray(word).astype(np.uint64) ^ state) + np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = z ^ (z >> np.uint64(31))
    return np.asarray(state)
