"""Where the command prints: its table on standard output, its progress on standard error."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.status import Status
from rich.text import Text

from fedspec_suite.measure.inert import inert

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
        return super().render_str(inert(text, keep="\n"), **more)

    def on_broken_pipe(self) -> None:
        """Go on silently: who reads no further, as ``head`` does, changes no exit code."""
        self.quiet = True
        _deaf()


NO_ROOM = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EIO", "EPIPE", "EBADF", "EACCES", "EPERM")
    if hasattr(errno, name)
)
"""Why something cannot be written that is no fault of the program's."""


PLAIN = "fedspec.plain"
"""How a stream writes what its encoding lacks: the name of a handler of errors."""

_PLAIN = {"─": "-", "│": "|", "├": "|", "└": "`", "–": "-", "…": "...", "✓": "v", "✗": "x", "•": "*"}
"""What is printed in place of signs that tables and progress lines hold."""


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Write what an encoding lacks in ASCII; letters, which may be of a path or a name, as Python spells them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in found), error.end


codecs.register_error(PLAIN, _plainly)


@contextmanager
def written() -> Iterator[None]:
    """Say in a line, with exit code 2, what could not be written: a full disk, a closed output.

    Who reads no further, as ``head`` does, changes no exit code.
    """
    _open()
    for stream in (sys.stdout, sys.stderr):
        # An encoding may be asked for that cannot write a line of a table, and all is judged by then.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        _deaf()
        if isinstance(error, BrokenPipeError) and error.__context__ is not None:
            raise error.__context__ from None
        with suppress(OSError):
            sys.stderr.write(f"fedspec: {error.filename or 'standard output'}: cannot be written: {error.strerror}\n")
        raise SystemExit(2) from None


def _open() -> None:
    """Of an output that was closed before the program began, standard output is missed and standard error is not."""
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        # A file that is opened later would else be taken for one of them.
        while (found := os.open(os.devnull, os.O_RDWR)) < 3:
            pass
        os.close(found)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, to the end of the program
    if sys.stdout is None:
        sys.stderr.write("fedspec: standard output: closed, so that nothing could be read of what is found\n")
        raise SystemExit(2)


def _deaf() -> None:
    """Let nothing more be written to standard output, not even when the program ends."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


@contextmanager
def unbroken() -> Iterator[None]:
    """Print, though nobody may read to the end."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _deaf()


def console() -> Console:
    """Standard output, as wide as the terminal, or wide enough for a table when it is none."""
    told = os.environ.get("COLUMNS", "")
    wide = int(told) if told.isdecimal() and int(told) else 200
    return Plain(width=None if sys.stdout.isatty() else wide)


def complaints() -> Console:
    """Standard error."""
    return Plain(stderr=True, soft_wrap=True)


def emit(rows: Sequence[dict[str, Any]]) -> None:
    """Print a list of objects as JSON."""
    with unbroken():
        sys.stdout.write(json.dumps(list(rows), indent=2) + "\n")


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A line on standard error that says how far the work is; one every while where that is no terminal."""
    err = complaints()
    if err.is_terminal:
        with Status("", console=err) as status:
            yield lambda text: status.update(Text(inert(text)))
    else:
        told = time.monotonic()

        def tell(text: str) -> None:
            nonlocal told
            if time.monotonic() - told > PATIENCE:
                told = time.monotonic()
                err.print(text)

        yield tell


COUNTED = "judged "
"""How a line begins that says how far the work is."""


@contextmanager
def spinner() -> Iterator[Any]:
    """A progress line on standard error; where that is no terminal, plain lines for what takes long.

    Of those that count what is done there is one every while.
    """
    err = complaints()
    if err.is_terminal:
        with Status("", console=err) as status:
            yield lambda text: status.update(Text(inert(text)))
        return
    told = time.monotonic()

    def tell(text: str) -> None:
        nonlocal told
        if text.startswith(COUNTED):
            if time.monotonic() - told > PATIENCE:
                told = time.monotonic()
                err.print(text)
        elif ": " in text:
            err.print(text)

    yield tell
