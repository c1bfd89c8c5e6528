"""Undo log of rows that a round writes over, for a round that breaks off."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from fedspec_torch.arith import fills_device

MOST = 2**28
"""Bytes of such rows that are held on a rank; of a round that writes over more nothing is, nor of large models."""


class UndoLog:
    """The rows that a round has written over, as they were.

    Attributes:
        lost: why not all of them are known; nothing: they are.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[Tensor, Any, Tensor]] = []
        self.bytes, self.lost = 0, ""

    def note(self, stack: Tensor, at: Any) -> None:
        """Keep some rows of a stack, which are written next."""
        if self.lost:
            return
        rows = stack[at]
        self.bytes += rows.nbytes
        if self.bytes > MOST or fills_device(stack.shape[1], stack):
            most = (
                "what they remember" if self.bytes <= MOST else f"more than {MOST / 1e6:.0f} MB of what they remember"
            )
            self.lost = f"its clients had written over {most}"
            self.rows.clear()
        else:
            self.rows.append((stack, at, rows.clone()))

    def undo(self) -> None:
        """Write all of them where they were, the last first: what was written twice is what it was at first."""
        for stack, at, rows in reversed(self.rows):
            stack[at] = rows
        self.rows.clear()
