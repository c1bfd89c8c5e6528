"""Build one virtual environment: under a lock, with commands that end with this process; partial ones are not used."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from fedspec.errors import ContractError
from fedspec_suite.measure.interrupts import deferred
from fedspec_suite.subjects import installing

_LOG_LINES = 15

_BEAT = 0.2
"""Seconds between two looks whether to go on."""


@dataclass(frozen=True)
class Job:
    """Environment under construction.

    Attributes:
        package: name of the package.
        folder: folder of the environment.
        lock: the open file of its lock.
        progress: told, in one line each, what takes time.
        stop: gives up where it is set.
        begun: begin of the work, on the clock of this process.
    """

    package: str
    folder: Path
    lock: int
    progress: Callable[[str], None]
    stop: threading.Event | None = None
    begun: float = field(default_factory=time.monotonic)

    @property
    def log(self) -> Path:
        """Log file of the commands' output."""
        return self.folder.with_name(self.folder.name + ".log")

    def say(self, words: str) -> None:
        """Report a line of progress."""
        self.progress(f"{self.package}: {words}")

    def ready(self) -> None:
        """Report how long the build took."""
        self.say(f"environment ready after {time.monotonic() - self.begun:.0f} s")


def build(job: Job, python: Path, requirements: Path) -> None:
    """Install the requirements into a fresh environment with the first installer that works.

    Raises:
        ContractError: none did; the message ends with the last lines of the log.
    """
    job.say(f"installing its pinned packages in {job.folder} (once)")
    torch = installing.asks_for_torch(requirements.read_text(encoding="utf-8"))
    with job.log.open("w", encoding="utf-8") as log:
        if (listed := installing.listed(sys.executable)) is None:
            _venv(job, log)
            listed = installing.listed(python) or ""
        for way in installing.ways(python, listed, torch):
            # What another way began must not be taken for what is there; and making pip takes longer than uv does.
            _venv(job, log, *(("--without-pip",) if way.tool == "uv" else ()))
            if way.tool == "uv":
                if _by_uv(job, way, requirements, log):
                    return
                continue
            if torch and installing.untold(listed):
                job.say(installing.PLAIN_TORCH)
            _run(job, [*way.install, "-r", str(requirements)], log)


def _venv(job: Job, log: TextIO, *options: str) -> None:
    _run(job, [sys.executable, "-I", "-m", "venv", "--clear", *options, str(job.folder)], log)


def _by_uv(job: Job, way: installing.Way, requirements: Path, log: TextIO) -> bool:
    """Install with uv; True if it could. It prints its plan first."""
    variables = {**way.variables, **_cache(job.folder)}
    # Kept in the environment: which file, from which place, each package is.
    plan = job.folder / "pylock.toml"
    if installing.by_uv(way, requirements, plan, lambda a: ended(a, job.lock, log, job.stop, variables), job.say):
        return True
    log.flush()
    last = next((line for line in reversed(_said(job.log)) if line.startswith("error: ")), f"see {job.log}")
    job.say(f"{way.name} cannot make it, and something else is tried: {last.removeprefix('error: ')}")
    return False


def _cache(folder: Path) -> dict[str, str]:
    """Set uv's cache: its usual folder if files there can be linked to, else a folder beside the environments."""
    if "UV_CACHE_DIR" in os.environ:
        return {}
    base = os.environ.get("XDG_CACHE_HOME")
    usual = (Path(base) if base else Path.home() / ".cache").absolute()
    while not usual.exists():
        usual = usual.parent
    return {} if usual.stat().st_dev == folder.stat().st_dev else {"UV_CACHE_DIR": str(folder.parent.parent / "uv")}


def _said(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()


def _run(job: Job, argv: list[str], log: TextIO) -> None:
    try:
        status = ended(argv, job.lock, log, job.stop)
        reason = f"exited with {status}"
    except OSError as error:
        status, reason = -1, str(error)
    if status:
        tool = "venv" if "venv" in argv else "pip"
        said = "\n".join(f"  {line}" for line in _said(job.log)[-_LOG_LINES:])
        raise ContractError(
            f"{job.package}: cannot make its environment: python -m {tool} {reason}; it needs a package "
            f"index (pip's own settings are honoured); see {job.log}, which ends\n{said}"
        )


def ended(
    argv: Sequence[str],
    lock: int,
    log: TextIO,
    stop: threading.Event | None = None,
    variables: Mapping[str, str] | None = None,
) -> int:
    """Run a command to its end; on an interrupt, kill it and its child processes.

    It holds the lock too: if this process is killed, nobody begins anew while it still writes.

    Raises:
        KeyboardInterrupt: also where ``stop`` was set.
    """
    child: subprocess.Popen[bytes] | None = None
    try:
        with deferred():
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(lock,),
                env={**os.environ, **(variables or {})},
            )
        while True:
            with suppress(subprocess.TimeoutExpired):
                return child.wait(_BEAT if stop else None)
            _go_on(stop)
    except BaseException:
        if child is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        raise


def _go_on(stop: threading.Event | None) -> None:
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt


@contextmanager
def locked(
    path: Path, package: str, progress: Callable[[str], None], stop: threading.Event | None = None
) -> Iterator[int]:
    """Hold a lock file; the system releases it when the last process that has it open ends."""
    with path.open("a+b") as file:
        if not try_lock(file.fileno()):
            progress(f"{package}: waiting for another process that makes its environment")
            while not try_lock(file.fileno()):
                _go_on(stop)
                time.sleep(_BEAT)
        yield file.fileno()


def try_lock(descriptor: int) -> bool:
    """True if this process now holds the lock of the open file."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
