"""Pipes to a child process: send one line, receive one line, with a time limit and a maximum length."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from typing import IO

LONGEST = 64 * 2**20
"""Bytes of the longest line that is accepted."""

REMEMBERED = 2**16
"""Bytes kept of the child's standard error: the last ones."""

_CHUNK = 2**16


class Ended(Exception):
    """Error raised if the child has closed a pipe; the message names the pipe."""


class TooLong(Exception):
    """Error raised if the child writes a line that exceeds the maximum length."""


class Pipes:
    """Standard input, output and error of a child that was started with three pipes.

    None of them is ever waited for without a limit: a child may close one and live on, write without reading, or read
    without writing.
    """

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._in, self._out, self._err = (_ours(s) for s in (child.stdin, child.stdout, child.stderr))
        self._streams = (child.stdin, child.stdout, child.stderr)
        self._unread = bytearray()
        self._said = bytearray()
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(self._out, selectors.EVENT_READ)
        self._waiting.register(self._err, selectors.EVENT_READ)

    def exchange(self, line: bytes, limit: float, most: int = LONGEST) -> bytes:
        """Send a line and return the line that the child answers.

        Args:
            line: the request.
            limit: seconds that both may take.
            most: bytes of the longest answer that is read.

        Raises:
            TimeoutError: the line was not taken, or none came back, within the limit.
            Ended: a pipe is closed.
            TooLong: the answer is longer, or has no end.
        """
        deadline = time.monotonic() + limit
        unsent = self._send(memoryview(line))
        end = self._unread.find(b"\n")
        most = min(most, LONGEST)
        if unsent:
            self._waiting.register(self._in, selectors.EVENT_WRITE)
        try:
            while unsent or end < 0:
                left = deadline - time.monotonic()
                ready = self._waiting.select(left) if left > 0 else []
                if not ready:
                    raise TimeoutError("took no request" if unsent else "gave no answer")
                for key, _ in ready:
                    if key.fd == self._in:
                        unsent = self._send(unsent)
                        if not unsent:
                            self._waiting.unregister(self._in)
                    elif key.fd == self._err:
                        self._listen()
                    else:
                        end = self._receive(end, most)
        finally:
            if unsent:
                self._waiting.unregister(self._in)
        # Read where it lies: a slice would be one more copy.
        with memoryview(self._unread) as whole:
            answer = bytes(whole[:end])
        del self._unread[: end + 1]
        return answer

    def stray(self) -> bytes:
        """Return output that the child printed without a request.

        Raises:
            Ended: it has closed its standard output.
        """
        if not self._unread:
            self._receive(-1)
        return bytes(self._unread[:200])

    def last_words(self) -> str:
        """Return the last non-empty line of the child's standard error."""
        while self._listen():
            pass
        lines = [line.strip() for line in self._said.decode(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def close(self) -> None:
        """Close the judge's ends of the pipes."""
        self._waiting.close()
        for stream in self._streams:
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _send(self, unsent: memoryview) -> memoryview:
        try:
            while unsent:
                unsent = unsent[os.write(self._in, unsent) :]
        except BlockingIOError:
            pass
        except OSError as error:
            raise Ended("standard input") from error
        return unsent

    def _receive(self, end: int, most: int = LONGEST) -> int:
        """Read what there is; where its first line ends, or -1."""
        try:
            chunk = os.read(self._out, _CHUNK)
        except BlockingIOError:
            return end
        if not chunk:
            raise Ended("standard output")
        begun = len(self._unread)
        self._unread += chunk
        if end < 0:
            end = self._unread.find(b"\n", begun)
        if len(self._unread) > most:
            raise TooLong
        return end

    def _listen(self) -> bool:
        """Read what there is on standard error, and say whether there may be more."""
        try:
            chunk = os.read(self._err, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            with contextlib.suppress(KeyError):
                self._waiting.unregister(self._err)
            return False
        self._said += chunk
        del self._said[:-REMEMBERED]
        return True


def _ours(stream: IO[bytes] | None) -> int:
    if stream is None:
        raise ValueError("pipes: the child was started without one of its three pipes")
    os.set_blocking(stream.fileno(), False)
    return stream.fileno()
