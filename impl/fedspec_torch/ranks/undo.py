"""Undo log of the rows that a round overwrites, in case the round fails."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from fedspec_torch.arith import fills_device

MOST = 2**28
"""Most bytes of old rows that a rank keeps; if a round overwrites more, or the model is large, it can't be undone."""


class UndoLog:
    """Old values of the rows that a round has overwritten.

    Attributes:
        lost: reason why some old values aren't in the log; empty: the log is complete.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[Tensor, Any, Tensor]] = []
        self.bytes, self.lost = 0, ""

    def note(self, stack: Tensor, at: Any) -> None:
        """Save rows of a stack before they are overwritten."""
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
        """Restore all saved rows, the last saved first, so that a row that was written twice gets its first value."""
        for stack, at, rows in reversed(self.rows):
            stack[at] = rows
        self.rows.clear()
