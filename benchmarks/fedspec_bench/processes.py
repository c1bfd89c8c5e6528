"""Parent side of the processes that run implementations."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from fedspec_bench.job import Job
from fedspec_bench.workloads import Array
from fedspec_suite.measure.interrupts import deferred

PATIENCE = 240
"""Seconds to wait for an implementation's answer."""

WORKER = Path(__file__).with_name("worker.py")


class WorkerError(Exception):
    """Error: an implementation couldn't be set up or run; the message is the first line of its error."""


class Worker:
    """Implementation in its own process.

    Raises:
        WorkerError: it did not set the job up.
    """

    def __init__(self, job: Job, python: str) -> None:
        self.job = job
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115, it is read when the process has ended
        with deferred():
            self.process = subprocess.Popen(
                # What an environment of its own holds is all that it sees; this one's sees what this process sees.
                [python, "-P" if python == sys.executable else "-I", str(WORKER), job.told()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.said,
                text=True,
                start_new_session=True,
            )
            # Nobody else holds it yet, and some packages start processes in its session that outlive it.
            self._end = weakref.finalize(self, _kill, self.process)
        self.versions: dict[str, str] = self._answer()["versions"]

    def rounds(self, count: int) -> dict[str, list[float]]:
        """Train some rounds, and return the seconds and CPU seconds of each.

        Raises:
            WorkerError: it ended on the way.
        """
        told: dict[str, list[float]] = self._ask(cmd="rounds", count=count)
        return told

    def end(self) -> tuple[Array, dict[str, Any]]:
        """End the process, and return its model and its report on memory.

        Raises:
            WorkerError: it ended before.
        """
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.npy"
            told = self._ask(cmd="end", model=str(file))
            model: Array = np.load(file)
        self.close()
        return model, told

    def close(self) -> None:
        """End the process, by force if needed."""
        with suppress(OSError):
            assert self.process.stdin
            self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self._end()

    def _ask(self, **question: Any) -> Any:
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise WorkerError(self._error()) from error
        return self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout
        # Every answer is one line, so nothing waits in the buffer.
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.close()
            raise WorkerError(f"the implementation gave no answer within {PATIENCE} s")
        line = self.process.stdout.readline()
        if not line:
            self.close()
            raise WorkerError(self._error())
        return json.loads(line)

    def _error(self) -> str:
        """The last thing that looks like an error's first line in what it said."""
        self.said.seek(0)
        lines = [line.rstrip() for line in self.said.read().splitlines() if line.strip()]
        # The exception stands at the left margin below its traceback.
        named = [line for line in lines if line[:1].isalpha() and ("Error" in line or "Exception" in line)]
        return (named or lines or [f"exit code {self.process.returncode}, no word"])[-1][:200]


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
