"""Sums that are accumulated as blocks of clients are trained, and the client rows that a text stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedspec_torch.arith import Stack, Vector, Weights
from fedspec_torch.local.block_results import Numbers, each_part, each_tensor, parts, tensors
from fedspec_torch.plan import neighbours
from fedspec_torch.sums.deferred import Each, Kept, Recipe, Rows, Sums, is_here, made_rows, rows_at

AT_ONCE = 2**16
"""Entries of a block for which derived rows are computed at a time."""


@dataclass(frozen=True)
class Target:
    """Stack of the new state to which derived rows are written.

    Attributes:
        stack: the stack of the new state.
        who: the row of each participant.
        recipe: the instructions that compute the rows.
    """

    stack: Tensor
    who: Sequence[int]
    recipe: Recipe


@dataclass(eq=False)
class Running:
    """Running sums over blocks of clients, and the derived rows that the text stores.

    Attributes:
        sums: the sums that the text requested.
        form: the result of a client, with empty stacks.
        targets: the stacks to which rows are written.
        totals: the sums over the blocks so far; None before the first block.
        numbers: for each participant the numbers that its client returned beside tensors.
        held: the returned tensors, by index, whose rows are needed once the sums are known.
    """

    sums: Sums
    form: Any
    targets: Sequence[Target]
    totals: list[Tensor | None] = field(default_factory=list)
    numbers: dict[int, list[Any]] = field(default_factory=dict)
    held: dict[int, Tensor] = field(default_factory=dict)

    def add(self, places: Sequence[int], made: Any) -> None:
        """Add a block's rows to the sums, and write the derived rows that the text stores."""
        rows, asked = tensors(made), self.sums.wanted
        self.totals = self.totals or [None] * len(asked)
        for k, a in enumerate(asked):
            if a.rows.recipe.leaf is not None:
                self._add(k, rows[a.rows.recipe.leaf], a.weights, places)
        self._note(places, made)
        for k in {k for target in self.targets if target.recipe.late for k in target.recipe.returned}:
            if k not in self.held:
                self.held[k] = rows[k].new_empty(self.sums.n, *rows[k].shape[1:])
            self.held[k][neighbours(places) or [*places]] = rows[k]
        computed = [(k, a) for k, a in enumerate(asked) if a.rows.recipe.leaf is None]
        targets = [(t, t.recipe) for t in self.targets if not t.recipe.late]
        if not computed and not targets:
            return
        for k, a in computed:
            self.totals[k] = rows[0].new_zeros(a.rows.shape[1]) if self.totals[k] is None else self.totals[k]
        pointwise = all(r.pointwise for r in (*(a.rows.recipe for _, a in computed), *(r for _, r in targets)))
        for some in _few(places, rows, pointwise=pointwise):
            for k, a in computed:
                assert a.rows.recipe.make
                self._add(k, a.rows.recipe.make(some), a.weights, some.places, some.at)
            _write(targets, some)

    def _add(
        self, k: int, rows: Tensor, weights: Weights | None, places: Sequence[int], at: slice = slice(None)
    ) -> None:
        total, w = self.totals[k], None if weights is None else rows_at(weights, places)
        if total is None:
            self.totals[k] = rows.sum(0) if w is None else weighed(w, rows)
        elif w is None:
            total[at].add_(rows.sum(0))
        else:
            total[at].addmv_(rows.T, w)

    def _note(self, places: Sequence[int], made: Any) -> None:
        for value in parts(made):
            if not isinstance(value, Tensor):
                each = value if isinstance(value, Numbers) else [value] * len(places)
                for place, own in zip(places, each, strict=True):
                    self.numbers.setdefault(place, []).append(own)

    def begin(self, state: Any, remember: int) -> Any:
        """Prepare the state for a run of the text on the known sums, from its beginning."""
        totals = iter(self.totals)
        self.sums.known = [a if isinstance(a, Tensor) else next(totals) for a in self.sums.asked]  # type: ignore[misc]
        self.sums.taken = 0
        return kept_by(self.sums, state, remember) if remember else state

    def told(self) -> Any:
        """Return the clients' results for the text: stacks with known sums, and every participant's numbers."""
        columns = iter(zip(*(self.numbers[r] for r in range(self.sums.n)), strict=True) if self.numbers else ())
        return each_part(lambda x: x if isinstance(x, Tensor) else Numbers(next(columns)), self.form)

    @property
    def summed(self) -> bool:
        """True if the text computes a sum of rows."""
        return bool(self.sums.wanted)

    def flat(self, like: Tensor) -> Tensor:
        """Concatenate the sums; zeros if no block was added."""
        sizes = [a.rows.shape[1] for a in self.sums.wanted]
        totals = self.totals or [like.new_zeros(size) for size in sizes]
        return torch.cat([t for t in totals if t is not None]) if len(totals) != 1 else totals[0]  # type: ignore[return-value]

    def split(self, flat: Tensor) -> None:
        """Set the sums from one concatenated vector."""
        sizes = [a.rows.shape[1] for a in self.sums.wanted]
        self.totals = [*torch.split(flat, sizes)]

    def finished(self, state: Any) -> Any:
        """Return the state with the written stacks in place of the derived ones."""
        left, late = iter(self.targets), list[tuple[Target, Recipe]]()

        def done(x: Tensor) -> Tensor:
            made = made_rows(x)
            if not isinstance(made, Each):
                return x.stack if isinstance(x, Kept) else x
            target = next(left)
            if target.recipe.late:
                late.append((target, made.recipe))
            return target.stack

        state = each_tensor(done, state)
        if late:
            places = range(self.sums.n)
            held = [self.held.get(k) for k in range(max(self.held, default=-1) + 1)]
            for some in _few(places, held, pointwise=all(recipe.pointwise for _, recipe in late)):
                _write(late, some)
        return state

    def close(self) -> None:
        """Release the sums and stacks, which refer to each other, without waiting for the garbage collector."""
        self.sums.asked.clear()
        self.sums.known, self.form, self.targets, self.totals = None, None, (), []
        self.held.clear()


def _few(places: Sequence[int], rows: Sequence[Tensor | None], *, pointwise: bool) -> Iterator[Rows]:
    """Split a block into a few rows at a time, and long rows into pieces if coordinates are independent."""
    wide = max([1, *(x.shape[1] for x in rows if x is not None)])
    few, parts = max(1, AT_ONCE // wide), [slice(None)]
    if pointwise and wide > AT_ONCE:
        parts = [slice(start, start + AT_ONCE) for start in range(0, wide, AT_ONCE)]
    for start in range(0, len(places), few):
        now = slice(start, start + few)
        for at in parts:
            # What is not held is not needed.
            yield Rows(places[now], [torch.empty(0) if x is None else x[now, at] for x in rows], at)


def _write(targets: Sequence[tuple[Target, Recipe]], rows: Rows) -> None:
    """Write rows to their places; first all rows are computed, since they may depend on the old ones."""
    new = [(t, [t.who[r] for r in rows.places], recipe.make(rows)) for t, recipe in targets if recipe.make]
    for target, at, value in new:
        target.stack[neighbours(at) or at, rows.at] = value


def kept_by(sums: Sums, state: Any, clients: int) -> Any:
    """Wrap the per-client stacks of a state, so that they are read and written a block at a time."""
    return each_tensor(lambda x: Kept(sums, x) if x.ndim == 2 and len(x) == clients and is_here(x) else x, state)


def weighed(w: Weights, rows: Stack) -> Vector:
    """Return sum_i w_i rows_i; on a CPU with one thread by NumPy's BLAS.

    100 rows of 2e5 took it 1.9 ms and torch's MKL 2.6 ms on one core of an EPYC; in the cache, where blocks after the
    first are, both take as long. Where torch has several threads, they would wait for NumPy's in its way.
    """
    known = rows.device.type == "cpu" and rows.dtype in (torch.float32, torch.float64)
    if not known or torch.get_num_threads() > 1:
        total: Vector = w @ rows
        return total
    out = rows.new_empty(rows.shape[1])
    np.dot(w.numpy(), rows.numpy(), out=out.numpy())
    return out
