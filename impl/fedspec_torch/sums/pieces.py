"""Server step of a large model in pieces of its coordinates, so that intermediates stay in the cache.

On whole vectors every operator of a text makes a vector of its own. A text that makes each coordinate of the new state
of the same coordinate of the old one and of the sums is run on pieces that stay in the caches: it holds no vector more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fedspec.algorithms.synchronous import model
from fedspec_torch.arith import fills_device
from fedspec_torch.local.block_results import each_tensor, tensors
from fedspec_torch.sums.deferred import EACH_ROW, Deferred, Each, Kept, NotSummedError, Recipe, aten
from fedspec_torch.sums.running import Running, kept_by

PIECE = 2**17
"""Number of coordinates in a piece."""


class Pointwise(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Dispatch mode that rejects operators that mix coordinates, or reduce over them."""

    def __init__(self, wide: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.wide = wide

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Torch's compiler is not asked, and takes 2 s to import.
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator of torch.

        Raises:
            NotSummedError: the operator doesn't act on each coordinate independently.
        """
        leaves = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        if any(x.shape[-1:] == (self.wide,) for x in leaves) and not any(isinstance(x, Deferred) for x in leaves):
            packet = func.overloadpacket
            if packet is aten.select and args[0].ndim == 1:
                # What reads more of a number than its type differs from what is computed with it.
                return func(*args).new_full((), torch.nan)
            of_row = packet in EACH_ROW or (packet is aten.select and args[1] == 0)
            masked = packet is aten.index_put_ and [x.dtype for x in args[1]] == [torch.bool] and not args[2].ndim
            if torch.Tag.pointwise not in func.tags and not of_row and not masked:
                raise NotSummedError(f"{func} mixes coordinates")
        return func(*args, **(kwargs or {}))


def in_pieces(
    text: Callable[[Any, Any], Any], state: Any, running: Running, remember: int, begins: Callable[[], None] | None
) -> Any:
    """Run a step's text piece by piece on known sums, and return the new state; None if the text isn't pointwise.

    Args:
        text: function that returns the new state, from the old state and the clients' results.
        state: the state before.
        running: the sums over the clients.
        remember: the number of rows of a stack that counts as the clients' memory; 0: the clients remember nothing.
        begins: function that is called before vectors of the state are overwritten; None: they must not be.
    """
    begun: Any = model(state)
    if not fills_device(begun.numel(), begun) or any(target.recipe.late for target in running.targets):
        return None
    d, sums, told = begun.numel(), running.sums, running.told()
    known, stacks = sums.known or (), dict[int, Tensor]()

    def run(at: slice) -> Any:
        size = len(range(*at.indices(d)))

        def cut(x: Tensor) -> Tensor:
            if x.shape[-1:] != (d,):
                return x
            if isinstance(x, Each):
                return Each(sums, torch.empty(0, size, dtype=x.dtype, device=x.device), Recipe(None), len(x))
            piece = x.as_subclass(Tensor)[..., at]
            if piece.ndim > 1:
                stacks[id(piece)] = x
            return piece

        cut_state = each_tensor(cut, state)
        sums.known, sums.taken = [*map(cut, known)], 0
        return text(kept_by(sums, cut_state, remember) if remember else cut_state, each_tensor(cut, told))

    try:
        with Pointwise(PIECE // 2):
            half = _wide(run(slice(PIECE // 2)), PIECE // 2)
        after = run(slice(PIECE))
        found = _wide(after, PIECE)
        # What reads the number of coordinates comes to other numbers on half of them.
        alike = half.keys() == found.keys() and all(torch.equal(x, found[k][: len(x)]) for k, x in half.items())
    except Exception:
        # What is wrong with a text is said when it is run on whole vectors.
        alike = False
    if alike:
        old, memory = tensors(state), Counter(x.untyped_storage().data_ptr() for x in tensors(state))

        def room(k: int, x: Tensor) -> Tensor:
            was = old[k] if begins and k < len(old) else x
            own = was.shape == (d,) and was.dtype == x.dtype and memory[was.untyped_storage().data_ptr()] == 1
            return was if own else x.new_empty(d)

        whole = {k: room(k, x) for k, x in found.items()}
        if begins:
            begins()
        for start in range(0, d, PIECE):
            at = slice(start, min(start + PIECE, d))
            found = _wide(run(at), at.stop - start) if start else found
            # What is handed on as it was may be written over next.
            found = {k: x.clone() if x.untyped_storage().data_ptr() in memory else x for k, x in found.items()}
            for k, x in found.items():
                whole[k][at] = x
    sums.known, sums.taken = known, 0
    places = count()

    def done(x: Tensor) -> Tensor:
        kept = Kept(sums, stacks.get(id(x.stack), x.stack), x.becomes) if isinstance(x, Kept) else x
        return whole.get(next(places), kept)

    return each_tensor(done, after) if alike else None


def _wide(state: Any, size: int) -> dict[int, Tensor]:
    """The vectors of pieces of a state, by their place."""
    return {k: x for k, x in enumerate(tensors(state)) if x.shape == (size,) and not isinstance(x, Deferred)}
