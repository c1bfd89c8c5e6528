"""What a batched round is made of: the gradients of a block of clients, and the messages in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from torch import Tensor

from fedspec.plan import Plan
from fedspec_torch.arith import Scalar, Stack

__all__ = ["Clients", "Messages", "Oracle", "Plan", "rows"]

Oracle: TypeAlias = Callable[[int, Stack], Stack]
"""The gradients that the clients of a block see at local step k = 0, 1, ..., each at its own point x[i].

It may return the same buffer at every call: a step has read its gradient before it asks for the next. The rows of
clients that have finished are ignored, whatever they hold."""


class Clients(Protocol):
    """The population: how many there are, and the gradients of any few of them."""

    def __len__(self) -> int:
        """The number of clients."""
        ...

    def oracle(self, clients: Sequence[int]) -> Oracle:
        """The gradients of these clients, in this order."""
        ...


@dataclass(frozen=True)
class Messages:
    """What the participants of a round send, one entry for each of n.

    Attributes:
        deltas: their changes [n, d] in blocks of consecutive clients, read once; each points downhill.
        examples: their sample sizes n_i.
        steps: their numbers of local steps tau_i.
        a_norms: ||a_i||_1 of their solvers; tau_i for plain SGD.
    """

    deltas: Iterable[Stack]
    examples: Sequence[Scalar]
    steps: Sequence[int]
    a_norms: Sequence[Scalar]


def rows(stack: Tensor, clients: Sequence[int]) -> Tensor:
    """The rows of these clients: a view where the clients are consecutive, else a copy."""
    first, last = clients[0], clients[-1]
    if list(clients) == list(range(first, last + 1)):
        return stack[first : last + 1]
    return stack[list(clients)]


def blocks(n: int, size: int) -> Iterator[slice]:
    """The slices of n clients in blocks of that size, the last one shorter where it does not divide n."""
    return (slice(start, start + size) for start in range(0, n, size))
