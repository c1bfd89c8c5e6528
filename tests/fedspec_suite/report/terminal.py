"""Where the command prints: its table on standard output, its progress on standard error."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.status import Status

Json = Annotated[bool, typer.Option("--json", help="Print a list of objects instead of a table.")]
"""An option that every command with a table has."""

PATIENCE = 10.0
"""Seconds between two lines about progress."""


def console() -> Console:
    """Standard output, as wide as the terminal, or wide enough for a table when it is none."""
    wide = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", "200"))
    return Console(width=wide, highlight=False)


def emit(rows: Sequence[dict[str, Any]]) -> None:
    """Print a list of objects as JSON."""
    sys.stdout.write(json.dumps(list(rows), indent=2) + "\n")


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A line on standard error that says how far the work is; one every while where that is no terminal."""
    err = Console(stderr=True, highlight=False)
    if err.is_terminal:
        with Status("", console=err) as status:
            yield status.update
    else:
        told = time.monotonic()

        def tell(text: str) -> None:
            nonlocal told
            if time.monotonic() - told > PATIENCE:
                told = time.monotonic()
                err.print(text, soft_wrap=True)

        yield tell


@contextmanager
def spinner() -> Iterator[Any]:
    """A progress line on standard error; plain lines for what takes long when it is not a terminal."""
    err = Console(stderr=True, highlight=False)
    if err.is_terminal:
        with Status("", console=err) as status:
            yield status.update
    else:
        yield lambda text: err.print(text, soft_wrap=True) if ": " in text else None
