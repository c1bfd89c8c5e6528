"""Results of blocks of clients, joined in the participants' order as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from torch import Tensor

from fedspec_torch.plan import neighbours

Block = tuple[list[int], Any]
"""The places of some participants, and what their training returned: one row for each."""


def begun_with(first: Block, rest: Iterator[Block]) -> Iterator[Block]:
    """A block and the rest of them; nothing holds the first one once it was given (``itertools.chain`` would)."""
    held = [first]
    del first
    yield held.pop()
    yield from rest


class Numbers(tuple[Any, ...]):
    """A number for each client, beside results with rows."""


def join_blocks(n: int, blocks: Iterable[Block]) -> Any:
    """The blocks' rows in the participants' order; of a tuple or record, for each of its parts.

    Each is written to its place when it comes by, so that no more than one block is held beside the whole.
    """
    whole: Whole | None = None
    for at, rows in blocks:
        whole = whole or room_for(n, rows)
        whole.take(at, rows)
        del rows
    assert whole, "no block"
    return whole.given()


@dataclass(frozen=True)
class Whole:
    """Collector of the rows of blocks.

    Attributes:
        take: puts the rows of a block to their places.
        given: what has come together, once all blocks were taken.
    """

    take: Callable[[list[int], Any], None]
    given: Callable[[], Any]


def room_for(n: int, first: Any) -> Whole:
    """Room for n rows like those of a block."""
    if isinstance(first, tuple) and not isinstance(first, Numbers):
        parts = [room_for(n, part) for part in first]

        def take_each(at: list[int], rows: Any) -> None:
            for whole, part in zip(parts, rows, strict=True):
                whole.take(at, part)

        return Whole(take_each, lambda: tuple(part.given() for part in parts))
    if is_dataclass(first) and not isinstance(first, type):
        names = [f.name for f in fields(first)]
        inner = room_for(n, tuple(getattr(first, name) for name in names))
        return Whole(
            lambda at, rows: inner.take(at, tuple(getattr(rows, name) for name in names)),
            lambda: replace(first, **dict(zip(names, inner.given(), strict=True))),
        )
    if isinstance(first, Tensor):
        out = first.new_empty(n, *first.shape[1:])

        def write(at: list[int], rows: Tensor) -> None:
            # A slice is written several times as fast as rows by their numbers.
            out[neighbours(at) or at] = rows

        return Whole(write, lambda: out)
    numbers: dict[int, Any] = {}

    def note(at: list[int], value: Any) -> None:
        # A number is the same for all clients of a block, unless there is one for each.
        each = value if isinstance(value, Numbers) else [value] * len(at)
        # Of a shard in which nobody takes part the numbers are another shard's.
        numbers.update(zip(at, each, strict=False))

    return Whole(note, lambda: Numbers(numbers[r] for r in range(n)))
