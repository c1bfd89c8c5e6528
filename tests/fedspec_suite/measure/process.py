"""A subject in a process of its own, spoken to in JSON lines, with a time limit on every answer."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from fedspec.contract import Case, Event, SubjectInfo
from fedspec.errors import FedspecError
from fedspec.wire import PROTOCOL, decode_info, encode


class SubjectError(FedspecError):
    """A subject did not answer: it raised, hung, died, or said something that is not an answer."""


class SubjectHangs(SubjectError):
    """A subject did not answer within the time limit and was stopped."""


class Process:
    """Runs a subject's command, restarts it when it died, stops it when it hangs."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        limit: float = 20.0,
        start_limit: float = 120.0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.command = list(command)
        self.limit = limit
        self.start_limit = start_limit
        self.environment = {**os.environ, **(environment or {})}
        self.sessions = 0
        self._child: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._errors: Any = None
        self.info = self._hello()

    def _launch(self) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the child
        self._answers = queue.Queue()
        try:
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                encoding="utf-8",
                errors="replace",
                env=self.environment,
                start_new_session=True,
            )
        except OSError as error:
            raise SubjectError(
                f"subject: cannot run {self.command[0]!r}: {error.strerror}; check the command"
            ) from error
        threading.Thread(target=_read, args=(self._child, self._answers), daemon=True).start()

    def _hello(self) -> SubjectInfo:
        self._launch()
        reply = self._ask({"cmd": "hello", "protocol": PROTOCOL}, self.start_limit)
        if reply.get("protocol", PROTOCOL) != PROTOCOL:
            raise SubjectError(f"subject: it speaks protocol {reply['protocol']}, the judge speaks {PROTOCOL}")
        return decode_info(reply.get("info") or {})

    def request(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request and wait for its answer.

        Raises:
            SubjectError: there is none, or it says that the subject failed.
        """
        if self._child is None or self._child.poll() is not None:
            self.close()
            self._hello()
        return self._ask(message, self.limit)

    def _ask(self, message: Mapping[str, Any], limit: float) -> dict[str, Any]:
        child = self._child
        assert child is not None and child.stdin is not None
        if not self._answers.empty() and (stray := self._answers.get_nowait()) is not None:
            self.close()
            raise SubjectError(
                f"subject: said {stray.strip()[:80]!r} without being asked; print one line for each request"
            )
        try:
            child.stdin.write(json.dumps(message) + "\n")
            child.stdin.flush()
            line = self._answers.get(timeout=limit)
        except queue.Empty:
            self.close()
            raise SubjectHangs(f"subject: no answer to {message['cmd']!r} within {limit:g} s; it was stopped") from None
        except (OSError, ValueError):
            line = None
        if line is None:
            child.wait()
            said = self._last_words()
            self.close()
            raise SubjectError(f"subject: it ended (exit code {child.returncode}) instead of answering{said}")
        try:
            reply = json.loads(line)
            assert isinstance(reply, dict) and isinstance(reply.get("ok"), bool)
        except (ValueError, AssertionError):
            self.close()
            raise SubjectError(
                f"subject: answered {line.strip()[:80]!r}, which is not a JSON object with 'ok'; "
                f"print nothing else on standard output"
            ) from None
        if not reply["ok"]:
            said = str(reply.get("error", "it failed without saying why"))
            raise SubjectError(said if said.startswith("subject:") else f"subject: {said}")
        return reply

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
        return f": {lines[-1][:200]}" if lines else ""

    def start(self, case: Case) -> RemoteSession:
        """Begin a session."""
        self.sessions += 1
        session = RemoteSession(self, self.sessions)
        self.request({"cmd": "start", "session": session.number, "case": encode(case)})
        return session

    def close(self) -> None:
        """Stop the process and everything that it started."""
        child, self._child = self._child, None
        if child is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._errors.close()

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RemoteSession:
    """A session on the other side of the pipe."""

    def __init__(self, process: Process, number: int) -> None:
        self.process = process
        self.number = number

    def step(self, event: Event) -> Mapping[str, Any]:
        """Send an event; return the raw answer."""
        reply = self.process.request({"cmd": "step", "session": self.number, "event": encode(event)})
        answer = reply.get("answer")
        if not isinstance(answer, Mapping):
            raise SubjectError("subject: its reply to a step has no 'answer' object")
        return answer

    def stop(self) -> None:
        """End the session."""
        self.process.request({"cmd": "stop", "session": self.number})


def _read(child: subprocess.Popen[str], answers: queue.Queue[str | None]) -> None:
    assert child.stdout is not None
    with contextlib.suppress(ValueError, OSError):
        for line in child.stdout:
            answers.put(line)
    answers.put(None)
