"""Output of the command: its table on standard output, its progress on standard error."""

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
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.status import Status
from rich.table import Table
from rich.text import Text

from fedspec_suite.measure.escaping import escape_controls
from fedspec_suite.report.output import deaf

Json = Annotated[bool, typer.Option("--json", help="Print a list of objects instead of a table.")]
"""An option that every command with a table has."""

PATIENCE = 10.0
"""Seconds between two lines about progress."""


class Plain(Console):
    """Prints words as they are: no markup, no emoji codes, and control characters spelled out.

    Some come from subjects, and a command must be fit for copying: ``py:package:Subject`` holds the code of an emoji.
    """

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False, **more})

    def render_str(self, text: str, **more: Any) -> Text:
        """Make a text of a string, also of one in a cell of a table."""
        return super().render_str(escape_controls(text, keep="\n"), **more)

    def on_broken_pipe(self) -> None:
        """Go on silently: who reads no further, as ``head`` does, changes no exit code."""
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
    """Standard output, as wide as the terminal or as COLUMNS says; 80 columns if it goes elsewhere."""
    told = os.environ.get("COLUMNS", "")
    wide = int(told) if told.isdecimal() and int(told) else 80
    return Plain(width=None if sys.stdout.isatty() else wide)


def print_items(items: Iterable[tuple[str, str]]) -> None:
    """Print a name and what it is on a line each, cut at the width of a terminal and whole elsewhere."""
    out, found = console(), [*items]
    wide = max((len(name) for name, _ in found), default=0)
    for name, words in found:
        line = Text(f"{name:{wide}}  {words}".rstrip())
        if out.is_terminal:
            line.truncate(out.width, overflow="ellipsis")
        out.print(line, soft_wrap=True)


def complaints() -> Console:
    """Standard error."""
    return Plain(stderr=True, soft_wrap=True)


def emit(rows: Sequence[dict[str, Any]]) -> None:
    """Print a list of objects as JSON."""
    with unbroken():
        sys.stdout.write(json.dumps(list(rows), indent=2) + "\n")


WRONG = "wrong: "
"""Beginning of the first deviation of an offer, which stays on the screen while the judge goes on."""

COUNTED = ("judged ", "searching for a known mistake: ")
"""Beginnings of progress lines that come often."""


def progress() -> AbstractContextManager[Callable[[str], None]]:
    """A line on standard error that says how far the work is; one every while where that is no terminal."""
    return spinner(("",))


@contextmanager
def spinner(counted: tuple[str, ...] = COUNTED) -> Iterator[Callable[[str], None]]:
    """A progress line on standard error; where that is no terminal, plain lines for what takes long.

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
"""Columns between two cells of a table."""


def fit(columns: Sequence[Sequence[str]], width: int, whole: Sequence[bool]) -> list[int]:
    """Widths of columns: the widest are narrowed to their longest word, and further if they must, whole ones last."""
    widths = [max(map(cell_len, "\n".join(cells).split("\n"))) for cells in columns]
    words = [max(map(cell_len, " ".join(cells).split()), default=0) for cells in columns]
    least = [most if kept else word for most, word, kept in zip(widths, words, whole, strict=True)]
    while sum(widths) + GAP * (len(widths) - 1) > width and max(widths) > 1:
        at = max(range(len(widths)), key=lambda k: (widths[k] > least[k], not whole[k], widths[k]))
        widths[at] -= 1
    return widths


class Whole(Table):
    """A table whose columns hold their longest word whole, if there is room: the widest columns are wrapped."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Set the widths of the columns, and print."""
        texts = [[str(column.header), *map(str, column.cells)] for column in self.columns]
        widths = fit(texts, options.max_width, [column.no_wrap for column in self.columns])
        for column, width in zip(self.columns, widths, strict=True):
            column.width = width
        yield from super().__rich_console__(console, options)


def table(*columns: str) -> Table:
    """A table with a head and no frame."""
    made = Whole(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column == "mutant")
    return made
