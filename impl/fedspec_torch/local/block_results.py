"""Results of blocks of clients, joined in the participants' order as they arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from torch import Tensor

from fedspec_torch.plan import neighbours

Block = tuple[list[int], Any]
"""Indices of some participants, and the result of their training, one row for each."""


def begun_with(first: Block, rest: Iterator[Block]) -> Iterator[Block]:
    """Yield a block and then the rest, without holding a reference to the first (``itertools.chain`` would)."""
    held = [first]
    del first
    yield held.pop()
    yield from rest


class Numbers(tuple[Any, ...]):
    """Tuple with one number for each client, beside results that are rows of tensors."""


def join_blocks(n: int, blocks: Iterable[Block]) -> Any:
    """Join the blocks' rows in the participants' order; a tuple or record is joined field by field.

    Each block is written to its place on arrival, so that memory holds at most one block beside the result.
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
        take: function that copies the rows of a block to their places.
        given: the collected rows, after all blocks.
    """

    take: Callable[[list[int], Any], None]
    given: Callable[[], Any]


def room_for(n: int, first: Any) -> Whole:
    """Allocate a collector for n rows like the rows of ``first``."""
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


def each_part(change: Callable[[Any], Any], value: Any) -> Any:
    """Map a function over the tensors, numbers and Numbers in a nested tuple or record."""
    if isinstance(value, tuple) and not isinstance(value, Numbers):
        return tuple(each_part(change, part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        old = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        new = {name: each_part(change, part) for name, part in old.items()}
        changed = {name: part for name, part in new.items() if not unchanged(part, old[name])}
        return replace(value, **changed) if changed else value
    return change(value)


def each_tensor(change: Callable[[Tensor], Any], value: Any) -> Any:
    """Map a function over the tensors in a nested tuple or record; all other values stay."""
    return each_part(lambda part: change(part) if isinstance(part, Tensor) else part, value)


def parts(value: Any) -> list[Any]:
    """List the tensors, numbers and Numbers in a nested tuple or record, in order."""
    found: list[Any] = []

    def note(part: Any) -> Any:
        found.append(part)
        return part

    each_part(note, value)
    return found


def tensors(value: Any) -> list[Tensor]:
    """List the tensors in a nested tuple or record, in order."""
    return [part for part in parts(value) if isinstance(part, Tensor)]


def unchanged(new: Any, old: Any) -> bool:
    """True if a mapped value consists of the very same objects as the old one."""
    if isinstance(new, tuple) and isinstance(old, tuple):
        return all(map(unchanged, new, old))
    return new is old
