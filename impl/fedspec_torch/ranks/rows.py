"""Stack of clients' rows that is distributed over ranks: a rank holds the rows of its own clients.

It is a tensor [n, d] to the specification's functions: what they do to each row is done where the row is, sums over the
rows go along the tree of the shards, and a product with a mixing matrix sends rows to the neighbours that need them.
Whatever else is done to it is done to the whole of it, on every rank: right, and as large as the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import array_api_compat.torch
import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from fedspec_torch.arith import Vector
from fedspec_torch.ranks.shards import Layout, Shards
from fedspec_torch.ranks.undo import UndoLog

aten = torch.ops.aten

EACH_ROW = {aten.zeros_like, aten.ones_like, aten.empty_like, aten.full_like, aten._to_copy, aten.detach, aten.alias}
"""Operators that act on each row separately, but that torch doesn't tag as pointwise."""


class Rows(Tensor):
    """Distributed stack: this rank holds the rows of its own shards.

    Attributes:
        parts: the rows of each shard that this rank holds.
        rows_of: the shard of each row.
        flat: True if the stack represents its rows joined to one vector.
        kept: True if the stack is updated in place: ``clone`` then returns the stack itself.
        before: log of the rows before they are overwritten; None: no log.
    """

    parts: dict[int, Tensor]
    rows_of: Layout
    flat: bool
    kept: bool
    before: UndoLog | None = None

    __torch_function__: Any = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, parts: Mapping[int, Tensor], layout: Layout, flat: bool = False, kept: bool = False) -> Rows:
        """Create the tensor wrapper, without memory of its own."""
        some = next(iter(parts.values()))
        shape = (len(layout), *some.shape[1:])
        shape = (int(np.prod(shape)),) if flat else shape
        made: Rows = Tensor._make_wrapper_subclass(cls, shape, dtype=some.dtype, device=some.device)
        return made

    def __init__(self, parts: Mapping[int, Tensor], layout: Layout, flat: bool = False, kept: bool = False) -> None:
        self.parts, self.rows_of, self.flat, self.kept = dict(parts), layout, flat, kept

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return array_api_compat.torch

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"Rows({tuple(self.shape)}, {self.dtype}, shards {[*self.parts]})"

    def __iter__(self) -> Iterator[Vector]:
        """Iterate over the rows; each is broadcast to all ranks when it is its turn."""
        return (self[k] for k in range(len(self)))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        """Run an operator of torch row by row on the rows' ranks; if it can't be, on all rows gathered."""
        kwargs = kwargs or {}
        packet = func.overloadpacket
        if (packet is aten.view or packet is aten._unsafe_view) and (seen := _reshaped(args[0], args[1])) is not None:
            return seen
        # Torch writes one row as a vector.
        flat = packet is not aten.index_put_ and any(isinstance(a, Rows) and a.flat for a in args)
        special = not flat and SPECIAL.get(packet)
        if special and (done := special(*args, **kwargs)) is not None:
            return done
        if (torch.Tag.pointwise in func.tags or packet in EACH_ROW) and (
            done := _each_row(func, args, kwargs)
        ) is not None:
            return done
        if func._schema.is_mutable:
            raise NotImplementedError(
                f"{func}: it would write to a gathered copy of a stack that is distributed over ranks, and leave the "
                "stack unchanged"
            )
        return func(*tree_map(whole, list(args)), **tree_map(whole, kwargs))

    @staticmethod
    def of(stack: Tensor, layout: Layout) -> Rows:
        """Make a distributed stack from one that every rank holds."""
        return Rows({s: stack[layout.places[s]] for s in layout.shards.held}, layout)

    def row(self, k: int) -> Vector:
        """Broadcast row k to every rank, and return it."""
        shards, s = self.rows_of.shards, int(self.rows_of.of[k])
        own = s in self.parts
        out: Tensor = self.parts[s][int(self.rows_of.within[k])].clone() if own else self._empty(1)[0]
        return shards.ranks.same(out, shards.rank(s))

    def gathered(self, only: int | None = None) -> Tensor | None:
        """Gather all rows in order, on every rank or only on rank ``only``; None on the other ranks."""
        shards = self.rows_of.shards
        ranks = shards.ranks
        places = {q: [k for s in _shards_of(shards, q) for k in self.rows_of.places[s]] for q in range(ranks.size)}
        others = {q for q in places if q != ranks.rank}
        own = torch.cat([self.parts[s] for s in shards.held])
        takes = only in (None, ranks.rank)
        heard = {q: self._empty(len(places[q])) for q in others} if takes else {}
        ranks.swap({q: own for q in others if only in (None, q)}, heard)
        if not takes:
            return None
        out = self._empty(len(self.rows_of))
        for q, rows in (heard | {ranks.rank: own}).items():
            out[places[q]] = rows
        return out.reshape(-1) if self.flat else out

    def taken(self, rows: Sequence[int]) -> Tensor:
        """Return some rows as a distributed stack; while a shard is training, return this shard's rows as a tensor."""
        layout, now = self.rows_of, self.rows_of.shards.training
        if now:
            return self.parts[now[-1]][layout.within[list(rows)]]
        new = layout.at(rows)
        parts = {s: self.parts[s][layout.within[[rows[k] for k in new.places[s]]]] for s in layout.shards.held}
        return Rows(parts, new)

    def _empty(self, rows: int) -> Tensor:
        some = next(iter(self.parts.values()))
        return some.new_empty(rows, *some.shape[1:])


def _shards_of(shards: Shards, rank: int) -> list[int]:
    return [s for s in range(shards.count) if shards.rank(s) == rank]


def whole(value: Any) -> Any:
    """Gather a distributed stack on every rank; return any other value unchanged."""
    if isinstance(value, Rows):
        assert not value.rows_of.shards.training, "a client reads rows of others"
        return value.gathered()
    return value


def _each_row(func: Any, args: Any, kwargs: Any) -> Any:
    """Apply a function to entries at the same places; None if two stacks have their rows on different ranks."""
    stacks = [a for a in args if isinstance(a, Rows)]
    first = stacks[0]
    if not all(a.flat == first.flat and a.ndim == first.ndim and a.rows_of.same(first.rows_of) for a in stacks):
        return None
    n = len(first.rows_of)
    if first.flat and any(isinstance(a, Tensor) and a.ndim and not isinstance(a, Rows) for a in args):
        return None

    def of(shard: int) -> Any:
        def part(a: Any) -> Any:
            if isinstance(a, Rows):
                return a.parts[shard]
            if isinstance(a, Tensor) and a.ndim == first.ndim and len(a) == n > 1:
                return a[first.rows_of.places[shard]]
            return a

        return func(*map(part, args), **kwargs)

    return Rows({s: of(s) for s in first.rows_of.shards.held}, first.rows_of, first.flat)


def _reshaped(x: Any, shape: Sequence[int]) -> Rows | None:
    n, d = len(x.rows_of), int(np.prod(next(iter(x.parts.values())).shape[1:]))
    match [*shape]:
        case [size] if size in (-1, n * d) and not x.flat:
            return Rows(x.parts, x.rows_of, flat=True)
        case [rows, size] if x.flat and rows in (n, -1) and size in (d, -1):
            return Rows(x.parts, x.rows_of)
    return None


def _index(x: Any, places: Sequence[Any]) -> Any:
    if len(places) != 1 or not isinstance(places[0], Tensor) or places[0].ndim != 1 or places[0].dtype == torch.bool:
        return None
    return x.taken(places[0].tolist())


def _select(x: Any, dim: int, k: int) -> Any:
    if dim != 0:
        return None
    return x.taken([k])[0] if x.rows_of.shards.training else x.row(k % len(x))


def _slice(x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    if dim == 0:
        return x.taken(range(len(x))[start:end:step])
    return Rows({s: aten.slice(p, dim, start, end, step) for s, p in x.parts.items()}, x.rows_of)


def _expand(x: Any, shape: Sequence[int], **more: Any) -> Any:
    if len(shape) != x.ndim or shape[0] not in (-1, len(x)):
        return None
    return Rows({s: p.expand(-1, *shape[1:]) for s, p in x.parts.items()}, x.rows_of)


def _index_put(x: Any, places: Sequence[Any], new: Tensor, accumulate: bool = False) -> Any:
    """Write new rows on the ranks that hold them; rows of every rank, or of other ranks, come from the whole stack."""
    if not isinstance(x, Rows) or x.flat:
        return None
    rows = places[0].tolist()
    layout = x.rows_of.at(rows)
    if isinstance(new, Rows) and new.flat:
        new = Rows(new.parts, new.rows_of)
    if not (isinstance(new, Rows) and new.rows_of.same(layout)):
        stack = whole(new)
        new = Rows.of(stack.expand(len(rows), *x.shape[1:]), layout)
    for s, part in x.parts.items():
        at = x.rows_of.within[[rows[k] for k in layout.places[s]]]
        if x.before:
            x.before.note(part, at)
        part[at] = new.parts[s]
    return x


def _sum(x: Any, dim: Sequence[int] | None = None, keepdim: bool = False, **more: Any) -> Any:
    if [*(dim or ())] != [0] or keepdim or more:
        return None
    return x.rows_of.shards.total(lambda s: x.parts[s].sum(0))


def _mean(x: Any, dim: Sequence[int] | None = None, keepdim: bool = False, **more: Any) -> Any:
    total = _sum(x, dim, keepdim, **more)
    return None if total is None else total / len(x)


def _product(W: Any, X: Any) -> Any:
    """The rows weighed and added, along the tree; or mixed by a square matrix, for which neighbours send theirs."""
    if isinstance(W, Rows):
        return None
    layout = X.rows_of
    if len(W) == 1:
        return layout.shards.total(lambda s: W[:, layout.places[s]] @ X.parts[s])
    return mixed(W, X) if len(W) == len(X) else None


def mixed(W: Tensor, X: Rows) -> Rows:
    """Return W X: a rank sends only the rows that another rank's rows have weights for."""
    layout, shards = X.rows_of, X.rows_of.shards
    ranks = shards.ranks
    heard = (W != 0).cpu().numpy()
    listens = {s: np.flatnonzero(heard[at].any(0)) for s, at in layout.places.items()}
    holder = np.array([layout.rank(k) for k in range(len(layout))], dtype=int)

    def goes(start: int, end: int) -> list[int]:
        """The rows of one rank that another needs."""
        needed = [listens[s] for s in _shards_of(shards, end)]
        return [k for k in np.unique(np.concatenate(needed)).tolist() if holder[k] == start]

    own = [k for s in shards.held for k in layout.places[s]]
    known = {k: X.parts[int(layout.of[k])][int(layout.within[k])] for k in own}

    def together(rows: Sequence[int]) -> Tensor:
        return torch.stack([known[k] for k in rows]) if rows else X._empty(0)

    others = [q for q in range(ranks.size) if q != ranks.rank]
    come = {q: goes(q, ranks.rank) for q in others}
    buffers = {q: X._empty(len(rows)) for q, rows in come.items()}
    ranks.swap({q: together(goes(ranks.rank, q)) for q in others}, buffers)
    known |= {k: buffers[q][j] for q, rows in come.items() for j, k in enumerate(rows)}
    parts = {s: W[layout.places[s]][:, listens[s]] @ together(listens[s].tolist()) for s in shards.held}
    return Rows(parts, layout)


SPECIAL: dict[Any, Callable[..., Any]] = {
    aten.index: _index,
    aten.select: _select,
    aten.slice: _slice,
    aten.expand: _expand,
    aten.index_put_: _index_put,
    aten.sum: _sum,
    aten.mean: _mean,
    aten.mm: _product,
    aten.clone: lambda x, **more: x if x.kept else None,
}
"""Operators on rows that are not elementwise; None: this case is not implemented."""
