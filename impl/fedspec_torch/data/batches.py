"""Minibatches: the examples that each client uses at each local step.

No draw depends on a moving state: the order of a client's examples in a round is a function of the seed, the round and
the client's number. So a minibatch doesn't depend on the other participants, on the division into blocks, or on an
interruption of the run.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedspec.arith import Array
from fedspec.plan import check_clients
from fedspec_torch.data.examples import Examples, Held, Minibatch, Pool, has_ignored


@dataclass(frozen=True, eq=False)
class Walk:
    """Order in which some clients pass through their examples, for kernels that read minibatches themselves.

    Example e of step k is row ``start + order[(k size + e) % count]``.

    Attributes:
        sizes: [n] the size of each client's minibatches.
        leaves: [T, ...] the tensors of these clients' examples; other clients' examples may be among them.
        starts: [n] the row of each client's first example.
        counts: [n] the sample sizes n_i.
        order: [n, largest n_i] the order in which each client passes through its examples; None: the order in memory.
    """

    sizes: Array
    leaves: Examples
    starts: Array
    counts: Array
    order: Tensor | None

    @cached_property
    def table(self) -> Array:
        """[n, 3] each client's first row, number of examples and minibatch size."""
        return np.stack([self.starts, self.counts, self.sizes], 1).astype(np.int64)

    def rows(self, steps: int) -> Tensor:
        """Return the rows [K, n, b] of the minibatches of the first K steps, if all minibatches have one size."""
        where, size = self.leaves[0].device, int(self.sizes[0])
        starts, counts = (torch.from_numpy(part).to(where)[:, None] for part in (self.starts, self.counts))
        places = (torch.arange(steps * size, device=where).view(steps, 1, size)) % counts
        order = self.order
        if order is not None:
            places = order.long().expand(steps, *order.shape).gather(2, places)
        return starts + places

    def at(self, i: int, k: int) -> Examples:
        """Return the minibatch of step k of the client in row i; a view if its examples are consecutive."""
        start, count, size = map(int, self.table[i])
        place = k * size % count
        if self.order is None and place + size <= count:
            return tuple(part[start + place : start + place + size] for part in self.leaves)
        places = torch.arange(place, place + size, device=self.leaves[0].device) % count
        which = start + (places if self.order is None else self.order[i, places])
        return tuple(part.index_select(0, which) for part in self.leaves)


@dataclass(frozen=True, eq=False)
class Batches:
    """Minibatches of some clients in one round: each client passes through its examples in its own order.

    Step k takes the next ``size`` examples and begins again at the end of the order. If ``size`` is None, or a client
    has at most ``size`` examples, its minibatch is all of its examples in the given order; without shuffling, all
    minibatches follow the given order.

    Raises:
        PlanError: the plan names a client that doesn't exist.
    """

    pool: Pool
    clients: tuple[int, ...]
    size: int | None
    seed: int
    round: int
    shuffled: bool = True
    memory: list[Tensor] = field(default_factory=list, repr=False)
    """Buffers for a step's minibatches, which the next step overwrites."""
    _known: dict[int, list[tuple[Tensor, torch.Size]]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_clients("batches", self.clients, len(self.pool.examples))

    @cached_property
    def found(self) -> tuple[Examples, Array]:
        """Tensors that contain the clients' examples, and the index of each client's first example."""
        return self.pool.of(self.clients)

    @cached_property
    def counts(self) -> Array:
        """[n] the sample sizes n_i."""
        return np.array([self.pool.examples[i] for i in self.clients])

    @cached_property
    def sizes(self) -> Array:
        """[n] the minibatch size of each client."""
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

    @cached_property
    def ignores(self) -> bool:
        """True if cross-entropy ignores an example of these clients, or of any client in memory."""
        return self.pool.ignores if isinstance(self.pool, Held) else has_ignored(self.found[0][-1])

    def first(self, n: int) -> Batches:
        """Return the minibatches of the first n clients, with the same draws as before."""
        if n == len(self.clients):
            return self
        # What is known of all of them is known of some: nothing is checked or looked up again.
        some, (leaves, starts), seen = copy(self), self.found, self._in_order
        vars(some).update(
            clients=self.clients[:n],
            counts=self.counts[:n],
            sizes=self.sizes[:n],
            found=(leaves, starts[:n]),
            _order=self._order[:n],
            _in_order=seen and tuple(part[:n] for part in seen),
            _numbers=self._numbers[:n],
            ignores=self.ignores,
        )
        return some

    @cached_property
    def _in_order(self) -> Examples | None:
        """[n, n_i, ...] views of the tensors of consecutive clients with equally many examples."""
        n, (leaves, starts) = int(self.counts[0]), self.found
        if (self.shuffled and (self.sizes != n).any()) or (np.diff(starts) != n).any() or (self.counts != n).any():
            return None
        every = slice(int(starts[0]), int(starts[0]) + n * len(starts))
        return tuple(part[every].reshape(len(starts), n, *part.shape[1:]) for part in leaves)

    def all_at(self, k: int, size: int) -> Minibatch:
        """Return the minibatches of step k of all clients, which have size ``size``; a view if the order allows it."""
        if self._in_order is None or (first := k * size % int(self.counts[0])) + size > self.counts[0]:
            return self._of_even_pool(k, size) or Minibatch(self.at(k, np.arange(len(self.clients)), size))
        return Minibatch(tuple(part[:, first : first + size] for part in self._in_order))

    @cached_property
    def walk(self) -> Walk:
        """Order in which these clients walk through their examples."""
        leaves, starts = self.found
        in_order = not self.shuffled or bool((self.sizes == self.counts).all())
        order = None if in_order else torch.from_numpy(self._order.astype(np.int32)).to(leaves[0].device)
        return Walk(self.sizes, leaves, starts, self.counts, order)

    def _of_even_pool(self, k: int, size: int) -> Minibatch | None:
        """Copy whole batches at once, if all clients have equally many examples, a multiple of a batch."""
        pool, n = self.pool, int(self.counts[0])
        if not isinstance(pool, Held) or not pool.is_even or n % size or (self.shuffled and n != size):
            return None
        at = self._numbers * (n // size) + k % (n // size)
        tables = self._tables(size)
        self.memory.extend(table.new_empty(0) for table, _ in tables[len(self.memory) :])
        some = []
        # The batches of a step are gone at the next: they take the same memory, which is there already.
        for (table, shape), memory in zip(tables, self.memory, strict=False):
            out = memory.resize_(len(at), table.shape[1])
            some.append(torch.index_select(table, 0, at, out=out).view(-1, *shape))
        return Minibatch(tuple(some))

    def _tables(self, size: int) -> list[tuple[Tensor, torch.Size]]:
        """Each tensor: a row for each batch, which is copied at once, twice as fast; and its shape."""
        if size not in self._known:
            parts = [part.view(-1, size, *part.shape[1:]) for part in self.found[0]]
            self._known[size] = [(part.flatten(1), part.shape[1:]) for part in parts]
        return self._known[size]

    @cached_property
    def _numbers(self) -> Tensor:
        return torch.tensor(self.clients, device=self.found[0][0].device)

    def at(self, k: int, rows: Array, size: int) -> Examples:
        """Return the minibatches [rows, size, ...] of step k of the clients in these rows, all of that size."""
        leaves, starts = self.found
        places = (k * size + np.arange(size))[None] % self.counts[rows, None]
        which = starts[rows, None] + np.take_along_axis(self._order[rows], places, 1)
        at = torch.from_numpy(which.reshape(-1)).to(leaves[0].device)
        # Several times as fast as indexing by a table.
        return tuple(part.index_select(0, at).reshape(len(rows), size, *part.shape[1:]) for part in leaves)


def mixed(*words: Any) -> Array:
    """Hash integers to pseudo-random 64-bit integers, a function of these alone (SplitMix64, Steele et al. 2014)."""
    state: Any = np.uint64(0)
    with np.errstate(over="ignore"):
        for word in words:
            z = (np.asarray(word).astype(np.uint64) ^ state) + np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = z ^ (z >> np.uint64(31))
    return np.asarray(state)


@dataclass(frozen=True, eq=False)
class Minibatches:
    """Minibatches of all clients in all rounds.

    Attributes:
        pool: the pool from which the examples are read.
        size: number of examples in a minibatch; None, or more than a client has: all of its examples.
        seed: seed from which, with round and client, the order of the examples is drawn.
        shuffled: True if each round has a new order of the examples.
    """

    pool: Pool
    size: int | None
    seed: int
    shuffled: bool

    def of(self, clients: tuple[int, ...], round: int, memory: list[Tensor] | None = None) -> Batches:
        """Return the minibatches of some clients in a round; ``memory`` gives buffers to reuse."""
        return Batches(self.pool, clients, self.size, self.seed, round, self.shuffled, [] if memory is None else memory)
