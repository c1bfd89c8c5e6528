"""Types of a batched round: the gradients of a block of clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from torch import Tensor

from fedspec.plan import Plan
from fedspec_torch.arith import Stack

__all__ = ["Clients", "Oracle", "Plan", "rows"]

Oracle: TypeAlias = Callable[[int, Stack], Stack]
"""The gradients that the clients of a block see at local step k = 0, 1, ..., each at its own point x[i].

It may return the same buffer at every call: a step has read its gradient before it asks for the next."""


class Clients(Protocol):
    """The population: how many there are, and the gradients of any few of them."""

    def __len__(self) -> int:
        """The number of clients."""
        ...

    def oracle(self, clients: Sequence[int]) -> Oracle:
        """The gradients of these clients, in this order."""
        ...


def neighbours(places: Sequence[int]) -> slice | None:
    """The slice that holds these places in their order; None where they are not one after another."""
    if not places:
        return None
    first, last = places[0], places[-1]
    if last - first + 1 == len(places) and list(places) == list(range(first, last + 1)):
        return slice(first, last + 1)
    return None


def rows(stack: Tensor, clients: Sequence[int]) -> Tensor:
    """The rows of these clients: a view where the clients are consecutive, else a copy."""
    return stack[neighbours(clients) or list(clients)]


def blocks(n: int, size: int) -> Iterator[slice]:
    """The slices of n clients in blocks of that size, the last one shorter where it does not divide n."""
    return (slice(start, start + size) for start in range(0, n, size))
