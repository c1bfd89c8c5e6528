"""Handling of stdout and stderr: write errors, closed streams, and characters that their encoding lacks."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fedspec.errors import FedspecError

NO_ROOM = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EIO", "EPIPE", "EBADF", "EACCES", "EPERM")
    if hasattr(errno, name)
)
"""Error numbers of failed writes that are not the program's fault, such as a full disk."""


PLAIN = "fedspec.plain"
"""Name of the codec error handler for characters that a stream's encoding lacks."""

_PLAIN = {"─": "-", "│": "|", "├": "|", "└": "`", "–": "-", "…": "...", "✓": "v", "✗": "x", "•": "*"}
"""Replacements for signs in tables and progress lines."""


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Write what an encoding lacks in ASCII; letters, which may be of a path or a name, as Python spells them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in found), error.end


codecs.register_error(PLAIN, _plainly)


def write_new(path: Path, text: str, command: str, instead: str) -> None:
    """Write a file that does not exist yet, and create its folder.

    Raises:
        FedspecError: it is there (then ``instead`` says what to do), or it can't be written.
    """
    try:
        with suppress(FileExistsError):
            path.parent.mkdir(parents=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise FedspecError(f"{command}: {path} is there already; {instead}") from None
    except OSError as error:
        raise FedspecError(f"{command}: cannot write {path} ({error.strerror}); choose another --folder") from error


@contextmanager
def written() -> Iterator[None]:
    """Report a failed write of the output, such as a full disk, in one line with exit code 2.

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
        deaf()
        if isinstance(error, BrokenPipeError) and error.__context__ is not None:
            raise error.__context__ from None
        with suppress(OSError):
            sys.stderr.write(f"fedspec: {error.filename or 'standard output'}: cannot be written: {error.strerror}\n")
        raise SystemExit(2) from None


def _open() -> None:
    """Reopen streams that were closed before the program began; report standard output, not standard error."""
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


def deaf() -> None:
    """Redirect stdout to the null device, so that nothing more is written, even at exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
