"""Terminal output: tables and text on stdout, progress on stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated, Any

import typer
from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.status import Status
from rich.table import Table
from rich.text import Text

from fedspec_suite.measure.escaping import escape_controls
from fedspec_suite.report.output import deaf

Only = Annotated[
    list[str] | None, typer.Option(help="[VARIANT:]ALGORITHM[/LEVEL[/READING]], with * and ?; repeatable.")
]
"""Option ``--only`` of a command that takes claims."""

Json = Annotated[bool, typer.Option("--json", help="Print a list of objects instead of a table.")]
"""Option ``--json`` of every command that prints a table."""

PATIENCE = 10.0
"""Seconds between two progress lines if stderr is not a terminal."""


class Plain(Console):
    """Console that prints strings literally: without markup and emoji codes, with control characters escaped.

    Some come from subjects, and a command must be fit for copying: ``py:package:Subject`` holds the code of an emoji.
    """

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False, **more})

    def render_str(self, text: str, **more: Any) -> Text:
        """Convert a string, also one in a table cell, to a text with its control characters escaped."""
        return super().render_str(escape_controls(text, keep="\n"), **more)

    def on_broken_pipe(self) -> None:
        """Continue silently if the reader closes the pipe, as ``head`` does; the exit code stays."""
        self.quiet = True
        deaf()


@contextmanager
def unbroken() -> Iterator[None]:
    """Suppress the error of a reader that closes the pipe before the end of the output."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        deaf()


def console() -> Console:
    """Return a console on stdout, as wide as the terminal, or as COLUMNS or 80 if stdout is not a terminal."""
    told = os.environ.get("COLUMNS", "")
    wide = int(told) if told.isdecimal() and int(told) else 80
    return Plain(width=None if sys.stdout.isatty() else wide)


Details = Annotated[bool, typer.Option("--details", "-v", help="Print every line whole.")]
"""Option of a command that cuts its lines at the width."""


def print_items(items: Iterable[tuple[str, str]], *, whole: bool) -> None:
    """Print one name and description per line; end a line with "..." at the width of the console, unless ``whole``."""
    out, found = console(), [*items]
    wide = max((len(name) for name, _ in found), default=0)
    for name, words in found:
        line = escape_controls(f"{name:{wide}}  {words}".rstrip())
        if not whole and cell_len(line) > out.width:
            line = f"{set_cell_size(line, max(out.width - 3, 0)).rstrip()}..."
        out.print(Text(line), soft_wrap=True)


def complaints() -> Console:
    """Return a console on stderr."""
    return Plain(stderr=True, soft_wrap=True)


def emit(rows: Sequence[dict[str, Any]]) -> None:
    """Print a list of objects as JSON."""
    with unbroken():
        sys.stdout.write(json.dumps(list(rows), indent=2) + "\n")


WRONG = "wrong: "
"""Prefix of the message on an offer's first deviation, which stays on the screen."""

COUNTED = ("judged ", "searching for a known mistake: ")
"""Prefixes of progress lines that come often."""


def progress() -> AbstractContextManager[Callable[[str], None]]:
    """Return a context manager for progress: a status line on a terminal, else a line every few seconds."""
    return spinner(("",))


@contextmanager
def spinner(counted: tuple[str, ...] = COUNTED) -> Iterator[Callable[[str], None]]:
    """Show a status line on a terminal; elsewhere, print progress lines, and those in ``counted`` only now and then.

    Of those that count what is done, by their beginnings, there is one every while.
    """
    err = complaints()
    if err.is_terminal:
        with Status("", console=err) as status:

            def show(text: str) -> None:
                if text.startswith(WRONG):
                    err.print(text)
                else:
                    status.update(Text(escape_controls(text)))

            yield show
        return
    told = time.monotonic()

    def tell(text: str) -> None:
        nonlocal told
        if text.startswith(counted):
            if time.monotonic() - told > PATIENCE:
                told = time.monotonic()
                err.print(text)
        elif ": " in text:
            err.print(text)

    yield tell


GAP = 2
"""Spaces between two cells of a table."""


def fit(columns: Sequence[Sequence[str]], width: int, whole: Sequence[bool]) -> list[int]:
    """Compute column widths: the widest columns shrink to their longest word first, and then further if necessary."""
    widths = [max(map(cell_len, "\n".join(cells).split("\n"))) for cells in columns]
    words = [max(map(cell_len, " ".join(cells).split()), default=0) for cells in columns]
    least = [most if kept else word for most, word, kept in zip(widths, words, whole, strict=True)]
    while sum(widths) + GAP * (len(widths) - 1) > width and max(widths) > 1:
        at = max(range(len(widths)), key=lambda k: (widths[k] > least[k], not whole[k], widths[k]))
        widths[at] -= 1
    return widths


class Whole(Table):
    """Table that keeps the longest word of each column whole if there is room, and wraps the widest columns."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Set the widths of the columns and render the table."""
        texts = [[str(column.header), *map(str, column.cells)] for column in self.columns]
        widths = fit(texts, options.max_width, [column.no_wrap for column in self.columns])
        for column, width in zip(self.columns, widths, strict=True):
            column.width = width
        yield from super().__rich_console__(console, options)


def table(*columns: str) -> Table:
    """Return an empty table with a header and no frame."""
    made = Whole(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column == "mutant")
    return made
