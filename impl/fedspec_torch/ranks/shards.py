"""Shards of a population: which rank holds which clients, and sums that don't depend on the number of ranks.

Clients are divided into shards of consecutive numbers, and a rank holds whole shards. All work is done shard by shard,
and results of several shards are added along one binary tree over all shards. So a run with s shards computes the same
numbers, bit for bit, on any number of ranks up to s.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fedspec.arith import Array
from fedspec.errors import PlanError
from fedspec_torch.ranks.processes import Ranks

WHOLE = 2**16
"""Bytes up to which every rank receives all parts of a sum; each rank adds only one piece of a larger sum."""

Node = tuple[int, int]
"""Node of the tree of sums: the range of shards from one number up to another."""


@dataclass(frozen=True, eq=False)
class Shards:
    """Division of a population into shards of consecutive clients.

    Attributes:
        clients: number of clients.
        count: number of shards.
        ranks: the processes that hold the shards.
        training: the shard whose clients are being trained; None: no shard. While a shard trains, ranks send nothing.

    Raises:
        PlanError: there are fewer shards than ranks, or ``count`` is less than 1.
    """

    clients: int
    count: int
    ranks: Ranks = field(default_factory=Ranks)
    training: list[int] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.count < max(1, self.ranks.size):
            raise PlanError(
                f"shards: got {self.count} for {self.ranks.size} ranks; every rank needs at least one, so ask for "
                f"{self.ranks.size} or more"
            )

    @cached_property
    def starts(self) -> list[int]:
        """Number of each shard's first client."""
        return [self.clients * s // self.count for s in range(self.count)]

    def of(self, client: int) -> int:
        """Return the shard of a client."""
        return bisect_right(self.starts, client) - 1

    def rank(self, shard: int) -> int:
        """Return the rank that holds a shard."""
        return ((shard + 1) * self.ranks.size - 1) // self.count

    @cached_property
    def held(self) -> tuple[int, ...]:
        """Shards that this rank holds."""
        return tuple(s for s in range(self.count) if self.rank(s) == self.ranks.rank)

    @cached_property
    def mine(self) -> range:
        """Clients that this rank holds."""
        ends = [*self.starts, self.clients]
        return range(ends[self.held[0]], ends[self.held[-1] + 1])

    def total(self, part: Callable[[int], Tensor]) -> Tensor:
        """Sum one tensor of each shard, on every rank; calls ``part`` once a shard and overwrites its result.

        Each rank first adds the parts that it holds; then each rank adds one piece of the remaining sum and sends the
        piece to all ranks.
        """
        ranks, own = self.ranks, [n for n in self._nodes(0, self.count) if self.rank(n[0]) == self.ranks.rank]
        values = {node: _added(*node, part) for node in own}
        if ranks.size == 1:
            return values[0, self.count]
        like = values[own[0]]
        d, others = like.numel(), [q for q in range(ranks.size) if q != ranks.rank]
        pieces = [slice(d * q // ranks.size, d * (q + 1) // ranks.size) for q in range(ranks.size)]
        if d * like.element_size() <= WHOLE:
            pieces = [slice(0, d)] * ranks.size
        flat = {node: value.reshape(-1) for node, value in values.items()}
        piece = flat[own[0]][pieces[ranks.rank]]
        theirs = {q: [n for n in self._nodes(0, self.count) if self.rank(n[0]) == q] for q in others}
        heard = {q: piece.new_empty(len(theirs[q]), len(piece)) for q in others}
        ranks.swap({q: torch.stack([flat[n][pieces[q]] for n in own]) for q in others}, heard)
        values = {n: value[pieces[ranks.rank]] for n, value in flat.items()}
        values |= {n: heard[q][j] for q in others for j, n in enumerate(theirs[q])}
        mine = self._combined(0, self.count, values)
        if len(mine) == d:
            return mine.reshape(like.shape)
        out = like.new_empty(d)
        out[pieces[ranks.rank]] = mine
        ranks.swap(dict.fromkeys(others, mine), {q: out[pieces[q]] for q in others})
        return out.reshape(like.shape)

    def _nodes(self, low: int, high: int) -> Iterator[Node]:
        """Largest tree nodes whose shards all belong to one rank."""
        if self.rank(low) == self.rank(high - 1):
            yield low, high
        else:
            middle = (low + high) // 2
            yield from self._nodes(low, middle)
            yield from self._nodes(middle, high)

    def _combined(self, low: int, high: int, values: Mapping[Node, Tensor]) -> Tensor:
        if (low, high) in values:
            return values[low, high]
        middle = (low + high) // 2
        return self._combined(low, middle, values) + self._combined(middle, high, values)


def _added(low: int, high: int, part: Callable[[int], Tensor]) -> Tensor:
    """The sum over a node of the tree."""
    if high - low == 1:
        return part(low)
    middle = (low + high) // 2
    left = _added(low, middle, part)
    return left.add_(_added(middle, high, part))


@dataclass(frozen=True, eq=False)
class Layout:
    """Assignment of the rows of a stack to shards.

    Attributes:
        shards: the shards of the population.
        of: the shard of each row.
    """

    shards: Shards
    of: Array

    @staticmethod
    def by_client(shards: Shards, clients: Sequence[int]) -> Layout:
        """Make the layout of a stack with one row for each of these clients."""
        return Layout(shards, np.searchsorted(shards.starts, np.array(clients, dtype=np.int64), side="right") - 1)

    def __len__(self) -> int:
        return len(self.of)

    def same(self, other: Layout) -> bool:
        """True if row k of both layouts is in the same shard, for every k."""
        return self is other or np.array_equal(self.of, other.of)

    @cached_property
    def places(self) -> dict[int, list[int]]:
        """Row numbers in each shard, in order."""
        return {s: np.flatnonzero(self.of == s).tolist() for s in range(self.shards.count)}

    @cached_property
    def within(self) -> Array:
        """Index of each row within its shard."""
        found = np.empty(len(self.of), dtype=np.int64)
        for places in self.places.values():
            found[places] = np.arange(len(places))
        return found

    def rank(self, row: int) -> int:
        """Return the rank that holds a row."""
        return self.shards.rank(int(self.of[row]))

    def at(self, rows: Sequence[int]) -> Layout:
        """Return the layout of some rows, in this order."""
        return Layout(self.shards, self.of[list(rows)])
