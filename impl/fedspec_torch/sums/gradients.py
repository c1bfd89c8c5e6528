"""Gradients that a text asks for before training: their weighted sums are stored for the text's later runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import array_api_compat.torch
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from fedspec_torch.arith import Stack, Vector
from fedspec_torch.sums.deferred import PRODUCTS, Each, Recipe, Rows, Sums


class Seen(Tensor):
    """Stack of gradients that records the weighted sums that a text computes of it.

    Attributes:
        note: function that records a requested weighted sum.
        rows: the stack of gradients.
    """

    note: Gradients
    rows: Stack

    @staticmethod
    def __new__(cls, note: Gradients, rows: Stack) -> Seen:
        """Create the tensor wrapper, without memory of its own."""
        made: Seen = Tensor._make_wrapper_subclass(cls, rows.shape, dtype=rows.dtype, device=rows.device)
        made.note, made.rows = note, rows
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in PRODUCTS and args[0].ndim == 1 and isinstance(args[1], Seen):
            seen = args[1]
            total = args[0] @ seen.rows
            seen.note.sums.append(total)
            return total
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        """Run an operator of torch on the gradients, and note that the text reads the rows."""

        def bare(x: Any) -> Any:
            if not isinstance(x, Seen):
                return x
            x.note.whole = True
            return x.rows

        return func(*tree_map(bare, list(args)), **tree_map(bare, kwargs or {}))

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return array_api_compat.torch


@dataclass(eq=False)
class Gradients:
    """Answer to a text's request for gradients: after its first run their weighted sums if these suffice.

    Attributes:
        rows: the gradients; None after the text's first run, if their weighted sums suffice.
        like: a stack of the same shape without rows.
        n: the number of rows.
        sums: the weighted sums, in the text's order.
        whole: True if the text reads single rows.
    """

    rows: Stack | None
    like: Stack
    n: int
    sums: list[Vector] = field(default_factory=list)
    whole: bool = False

    def __call__(self) -> Any:
        """Return the gradients, or a stack with known sums, for a later run of the text."""
        if self.rows is not None and self.whole:
            return self.rows
        self.rows = None
        return Each(Sums((), Rows([], []), known=self.sums), self.like, Recipe(None), self.n)


def seen(rows: Stack) -> tuple[Seen, Gradients]:
    """Wrap gradients for a text's first run, and make the answer for its later runs."""
    note = Gradients(rows, rows.new_empty(0, *rows.shape[1:]), len(rows))
    return Seen(note, rows), note
