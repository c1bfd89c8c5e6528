"""Types of a batched round (population, gradient function), and functions that select rows and blocks of clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from torch import Tensor

from fedspec.plan import Plan
from fedspec_torch.arith import Stack

__all__ = ["Clients", "Oracle", "Plan", "rows"]

Oracle: TypeAlias = Callable[[int, Stack], Stack]
"""Gradient function of a block of clients: maps local step k = 0, 1, ... and points x to gradients, row i at x[i]. It
may return the same buffer at every call: a step uses its gradient before it asks for the next.

The function may return the same buffer at every call: a step must use its gradient before it asks for the next."""


class Clients(Protocol):
    """Population of clients: its size, and a gradient function for any subset."""

    def __len__(self) -> int:
        """Return the number of clients."""
        ...

    def oracle(self, clients: Sequence[int]) -> Oracle:
        """Return the gradient function of these clients, with rows in this order."""
        ...


def neighbours(places: Sequence[int]) -> slice | None:
    """Return the slice that equals these indices in their order, or None if the indices aren't consecutive."""
    if not places:
        return None
    first, last = places[0], places[-1]
    if last - first + 1 == len(places) and list(places) == list(range(first, last + 1)):
        return slice(first, last + 1)
    return None


def rows(stack: Tensor, clients: Sequence[int]) -> Tensor:
    """Return the rows of these clients: a view if the clients are consecutive, else a copy."""
    return stack[neighbours(clients) or list(clients)]
