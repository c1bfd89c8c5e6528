"""Work for other processes, which import it by name."""

from __future__ import annotations

import sys
from collections.abc import Iterator


def doubled(task: int) -> Iterator[int | str]:
    """Two results, or one and the end of the process."""
    yield 10 * task
    if task == 2:
        sys.exit(9)
    yield 10 * task + 1


def lost(task: int, done: int, reason: str) -> Iterator[int | str]:
    """Yield the report on a task that was lost."""
    yield f"lost {task} after {done}: {reason}"
