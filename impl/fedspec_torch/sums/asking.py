"""Dry run of a step's text without client results, to find the sums that it computes and the rows that it stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from fedspec_torch.arith import Vector
from fedspec_torch.local.block_results import Numbers, each_part, parts, tensors
from fedspec_torch.sums.deferred import Each, Kept, NotSummedError, Recipe, Rows, Sums, is_never_known, made_rows
from fedspec_torch.sums.running import Running, Target, kept_by

Text: TypeAlias = Callable[[Any, Any], tuple[Any, Any]]
"""Step's text: function of its state and its clients' results to the new state and the values it returns."""


def sums_of(text: Text, state: Any, who: Sequence[int], clients: int, made: Any, *, looked_at: bool) -> Running | None:
    """Find the sums that a step's text computes of its clients' results; None if it needs all rows at once.

    Args:
        text: the function of the step.
        state: the state before the step; rows of its stacks are the clients' memory.
        who: the participants.
        clients: number of all clients.
        made: the result of a client; its rows aren't read.
        looked_at: True if the caller reads the step's intermediates, which then must not hold rows.
    """
    counted = any(not isinstance(x, Tensor) for x in parts(made))
    found = []
    # What clients return beside their tensors is not known yet: no sum may depend on it, as one of equal numbers would.
    for number in (1, 2) if counted else (1,):
        try:
            found.append(_asked(text, state, who, clients, made, number, looked_at=looked_at))
        except Exception:
            # What is wrong with a text is said when it is run on all rows.
            return None
    first, last = found[0].sums.wanted, found[-1].sums.wanted
    enough = len(first) == len(last) and all(a.same(b) for a, b in zip(first, last, strict=True))
    for running in found[enough:]:
        running.close()
    return found[0] if enough else None


def trained_later(form: Any, n: int, x: Vector) -> Each:
    """Return a stack without rows for clients whose training the text requests after the training of ``form``.

    Raises:
        NotSummedError: the clients have a memory, which may have changed meanwhile.
    """
    sums = next(t.of for t in tensors(form) if isinstance(t, Each))
    if sums.remembers:
        raise NotSummedError("the text trains clients with a memory twice")
    return Each(sums, torch.empty(0, *x.shape[-1:], dtype=x.dtype, device=x.device), Recipe(None), n)


def _asked(
    text: Text, state: Any, who: Sequence[int], clients: int, made: Any, number: int, *, looked_at: bool
) -> Running:
    # A view would keep the rows of a block, and what is computed on demand would be computed.
    none = [torch.empty(0, *x.shape[1:], dtype=x.dtype, device=x.device) for x in tensors(made)]
    sums = Sums(who, Rows([], none))
    leaves = iter(range(len(sums.empty.made)))

    def deferred(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return Numbers(1 + place * number for place in range(len(who)))
        k = next(leaves)
        return Each(sums, sums.empty.made[k], Recipe(lambda rows: rows.made[k], returned=frozenset({k}), leaf=k))

    form = each_part(deferred, made)
    kept = kept_by(sums, state, clients)
    sums.remembers = kept is not state
    try:
        after, shown = text(kept, form)
    except Exception:
        # What was asked for holds the stacks, which hold it.
        sums.asked.clear()
        raise
    if looked_at and any(isinstance(x, Each | Kept) for x in tensors(tuple(shown.values()))):
        raise NotSummedError("the text reads the numbers of single rows")
    return Running(sums, form, [*_targets(sums, tensors(state), tensors(after))])


def _targets(sums: Sums, before: Sequence[Tensor], after: Sequence[Tensor]) -> Iterator[Target]:
    """Find the places to which rows of a new state are written."""
    written: set[int] = set()
    for k, x in enumerate(after):
        if is_never_known(x):
            raise NotSummedError("the new state holds a number of a single row")
        made = made_rows(x)
        if not isinstance(made, Each):
            continue
        if made.recipe.make is None:
            raise NotSummedError("the new state holds rows of clients that are trained later")
        old = x.stack if isinstance(x, Kept) else before[k] if len(before) == len(after) else None
        again = old is not None and old.shape == x.shape and (isinstance(x, Kept) or [*sums.who] == [*range(sums.n)])
        # A stack that is written where it is gives itself for a copy.
        stack = old.clone() if again and old is not None else torch.empty(x.shape, dtype=x.dtype, device=x.device)
        if not made.recipe.late:
            written.add(stack.data_ptr())
        yield Target(stack, sums.who if isinstance(x, Kept) else range(sums.n), made.recipe)
    reads = [stack for y in map(made_rows, after) if isinstance(y, Each) and y.recipe.late for stack in y.recipe.reads]
    if any(stack.data_ptr() in written for stack in reads):
        raise NotSummedError("the text reads rows that it has overwritten, after the sums are known")
