"""A subject in a separate process that reads and writes JSON lines, with a time limit on every answer."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from fedspec.contract import Case, Event, SubjectInfo
from fedspec.errors import ContractError, FedspecError
from fedspec.wire import PROTOCOL, decode_info, decode_line, decode_reply, encode
from fedspec_suite.measure.escaping import escape_controls, escape_values
from fedspec_suite.measure.interrupts import deferred
from fedspec_suite.measure.pipes import LONGEST, Ended, Pipes, TooLong
from fedspec_suite.measure.setting import with_readings

LIMIT, START_LIMIT = 20.0, 120.0
"""Seconds allowed by default for an answer and for the handshake."""

IMPORTS = "imports inside {} count: those at the top of the adapter have --start-limit"
"""Hint for a late first answer, as from an adapter that imports torch when a session starts."""
USUAL = 2**20
"""Bytes that any answer may have: six times the handshake of the subject that offers most. JSON that is made to take
memory takes some thirty bytes for each that it is written in, before anything can be held to the schema."""

PER_BYTE = 64
"""Further bytes allowed in an answer for each byte of the longest request so far, which holds the whole case."""

LONGEST_DETAIL = 4000
"""Characters kept of a subject's traceback."""

_GRACE = 2.0
"""Seconds in which a process that has closed a pipe may end."""


class SubjectError(FedspecError):
    """Error raised if a subject gives no valid answer: it raised, hung, died or sent something invalid.

    Attributes:
        detail: the subject's own account of it, such as a traceback.
    """

    def __init__(self, said: str, detail: str = "") -> None:
        super().__init__(said)
        self.detail = detail


class SubjectRaised(SubjectError):
    """A subject raised an exception.

    Attributes:
        said: the exception, without the event in which it was raised.
    """

    def __init__(self, said: str, detail: str = "", where: str = "") -> None:
        super().__init__(f"{said}, {where}" if where else said, detail)
        self.said = said


class SubjectHangs(SubjectError):
    """Error raised if a subject didn't answer within the time limit and was stopped."""


class Process:
    """Process that runs a subject's command; it is restarted if it died and stopped if it hangs."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        limit: float = LIMIT,
        start_limit: float = START_LIMIT,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.command = list(command)
        self.limit = limit
        self.start_limit = start_limit
        self.environment = {**os.environ, **(environment or {})}
        self.sessions = 0
        self._longest_request = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._pipes: Pipes | None = None
        self._answered = set[str]()
        try:
            self.info = with_readings(self._hello())
        except BaseException:
            # Nobody else knows of it yet: also where the user interrupts the handshake.
            self.close()
            raise

    def _launch(self) -> None:
        self._answered.clear()
        try:
            with deferred():
                self._child = subprocess.Popen(
                    self.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    env=self.environment,
                    start_new_session=True,
                )
                self._pipes = Pipes(self._child)
                # Also where an interrupt comes before anybody holds this object.
                self._end = weakref.finalize(self, _kill, self._child)
        except OSError as error:
            raise SubjectError(
                f"adapter: cannot run {self.command[0]!r}: {error.strerror}; check the command"
            ) from error

    def _hello(self) -> SubjectInfo:
        self._launch()
        reply = self._ask({"cmd": "hello", "protocol": PROTOCOL}, self.start_limit)
        if reply.get("protocol", PROTOCOL) != PROTOCOL:
            raise SubjectError(f"adapter: it uses protocol {reply['protocol']}; this fedspec uses {PROTOCOL}")
        return decode_info(escape_values(reply["info"]))

    def request(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request and return its answer.

        Raises:
            SubjectError: there is none, or it says that the subject failed.
        """
        if self._child is None or self._child.poll() is not None:
            self.close()
            try:
                self._hello()
            except ContractError as error:
                self.close()
                raise SubjectError(f"adapter: after a restart, its handshake is invalid: {error}") from error
        return self._ask(message, self.limit)

    def _ask(self, message: Mapping[str, Any], limit: float) -> dict[str, Any]:
        pipes = self._pipes
        if pipes is None:
            raise SubjectError("adapter: it is not running")
        try:
            if stray := pipes.stray():
                raise self._stopped(f"said {_quoted(stray)} without a request; print one line for each request")
            asked = json.dumps(message).encode() + b"\n"
            self._longest_request = max(self._longest_request, len(asked))
            line = pipes.exchange(asked, limit, self._most(message["cmd"]))
        except TimeoutError as error:
            what = f"no answer to {message['cmd']!r}" if "answer" in str(error) else f"did not read {message['cmd']!r}"
            self.close()
            # A module that is imported there is imported once.
            first = message["cmd"] in ("start", "step") and message["cmd"] not in self._answered
            why = f" (--limit; {IMPORTS.format(message['cmd'])})" if first else ""
            raise SubjectHangs(f"adapter: {what} within {limit:g} s{why}; it was stopped") from None
        except TooLong:
            most = self._most(message["cmd"]) / 2**20
            raise self._stopped(f"its answer to {message['cmd']!r} is longer than {most:.3g} MB") from None
        except Ended as pipe:
            raise self._ended(str(pipe), limit) from None
        self._answered.add(message["cmd"])
        return self._read(line, message["cmd"])

    def _most(self, command: str) -> int:
        """Bytes of the longest answer that is read: before anything was asked, or where nothing is, it is short."""
        return min(LONGEST, USUAL + (PER_BYTE * self._longest_request if command in ("step", "save") else 0))

    def _read(self, line: bytes, command: str) -> dict[str, Any]:
        """Decode an answer."""
        reply, wrong = _decoded(line, command)
        if wrong:
            # The error is gone by now, and with it what it held of the answer: that is read a second time.
            if _says_ok(line):
                raise SubjectError(f"adapter: its answer to {command!r} is invalid: {escape_controls(wrong)}")
            raise self._stopped(
                f"answered {_quoted(line)}, which is not a JSON object with 'ok'; print nothing else on standard output"
            )
        if not reply["ok"]:
            said = escape_controls(reply["error"], most=500) or "it failed without saying why"
            detail = escape_controls(str(reply.get("detail", "")), keep="\n", most=LONGEST_DETAIL)
            raise SubjectRaised(said if said.startswith(("adapter:", "subject:")) else f"adapter: {said}", detail)
        return reply

    def _stopped(self, why: str) -> SubjectError:
        self.close()
        return SubjectError(f"adapter: {why}")

    def _ended(self, pipe: str, limit: float) -> SubjectError:
        """A pipe was closed: because the process has ended, or while it lives on."""
        child, pipes = self._child, self._pipes
        if child is None or pipes is None:
            return SubjectError("adapter: it is not running")
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(min(limit, _GRACE))
        said = escape_controls(pipes.last_words(), most=200)
        said = f": {said}" if said else ""
        if child.returncode is None:
            return self._stopped(f"it closed its {pipe} instead of answering, and was stopped{said}")
        return self._stopped(f"its process exited (code {child.returncode}) before it answered{said}")

    def start(self, case: Case) -> RemoteSession:
        """Begin a session."""
        self.sessions += 1
        session = RemoteSession(self, self.sessions)
        self.request({"cmd": "start", "session": session.number, "case": encode(case)})
        return session

    def afresh(self) -> None:
        """End the process, so that the next request starts a new one; only saved bytes survive."""
        self.close()

    def close(self) -> None:
        """Kill the process and its process group."""
        child, self._child = self._child, None
        pipes, self._pipes = self._pipes, None
        if child is not None:
            _kill(child)
            self._end.detach()
        if pipes is not None:
            pipes.close()

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RemoteSession:
    """Session of a subject in a separate process."""

    def __init__(self, process: Process, number: int) -> None:
        self.process = process
        self.number = number

    def step(self, event: Event) -> Mapping[str, Any]:
        """Send an event and return the answer, with numbers as floats."""
        reply = self.process.request({"cmd": "step", "session": self.number, "event": encode(event)})
        answer: Mapping[str, Any] = reply["answer"]
        return answer

    def save(self) -> bytes:
        """Request the session's saved state and return its bytes.

        Raises:
            SubjectError: the answer is not base64.
        """
        said = self.process.request({"cmd": "save", "session": self.number})["saved"]
        try:
            return base64.b64decode(said, validate=True)
        except ValueError as error:
            raise SubjectError(f"adapter: its answer to 'save' is not base64: {error}") from error

    def restore(self, saved: bytes) -> None:
        """Send saved bytes to the session, from which it continues."""
        said = base64.b64encode(saved).decode()
        self.process.request({"cmd": "restore", "session": self.number, "saved": said})

    def stop(self) -> None:
        """End the session."""
        self.process.request({"cmd": "stop", "session": self.number})


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_GRACE)


def _decoded(line: bytes, command: str) -> tuple[dict[str, Any], str]:
    """A reply, or why it is none."""
    try:
        return decode_reply(line, command), ""
    except ContractError as error:
        return {}, str(error) or "it cannot be read"


def _quoted(line: bytes) -> str:
    return repr(line.decode(errors="replace").strip()[:80])


def _says_ok(line: bytes) -> bool:
    """True if a line is an object with 'ok', so that the next line answers the next request."""
    try:
        return isinstance(decode_line(line, "reply").get("ok"), bool)
    except ContractError:
        return False
