"""An interrupt that arrives while a process is being started: it is raised, and the process does not run on."""

from __future__ import annotations

import multiprocessing
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from test_judge.support import START, python
from test_judge.test_robust_process import gone

from fedspec_bench import processes
from fedspec_bench.job import Job
from fedspec_suite.judge import worker_pool
from fedspec_suite.measure import process
from fedspec_suite.measure.interrupts import Terminated, blocked, deferred, terminable
from fedspec_suite.subjects import environment_builder

SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
SENT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Late(subprocess.Popen[Any]):
    """A process after whose start, and before anybody holds it, this one is interrupted."""

    begun: ClassVar[list[int]] = []
    sent: ClassVar[signal.Signals] = signal.SIGINT

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.begun.append(self.pid)
        os.kill(os.getpid(), self.sent)


@pytest.fixture(params=SENT, ids=lambda s: s.name)
def late(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Late]]:
    monkeypatch.setattr(subprocess, "Popen", Late)
    monkeypatch.setattr(Late, "begun", [])
    monkeypatch.setattr(Late, "sent", request.param)
    with terminable():
        yield Late


def environment(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("wb") as lock, (tmp_path / "log").open("w") as log:
        environment_builder.ended(SLEEP, lock.fileno(), log)


def subject(tmp_path: Path) -> None:
    process.Process(SLEEP)


def bench(tmp_path: Path) -> None:
    python = tmp_path / "python"
    # It does not look whether anybody asks.
    python.write_text(f"#!/bin/sh\nexec {shlex.join(SLEEP)}\n")
    python.chmod(0o755)
    processes.Worker(Job("torch_loop", "mlp"), str(python))


@pytest.mark.parametrize("start", [environment, subject, bench], ids=lambda f: f.__name__)
def test_what_was_being_started_is_ended(start: Callable[[Path], None], late: type[Late], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as told:
        start(tmp_path)
    assert isinstance(told.value, Terminated) == (late.sent != signal.SIGINT)
    del told
    (pid,) = late.begun
    assert gone(pid)


def nothing(task: int) -> Iterator[int]:
    yield task


def lost(task: int, after: int, reason: str) -> Iterator[int]:
    yield from ()


@pytest.mark.parametrize("sent", SENT, ids=lambda s: s.name)
def test_workers_are_ended(sent: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    start = multiprocessing.context.SpawnProcess.start

    def interrupted(self: Any) -> None:
        start(self)
        begun.append(self.pid)
        os.kill(os.getpid(), sent)

    monkeypatch.setattr(multiprocessing.context.SpawnProcess, "start", interrupted)
    with terminable(), pytest.raises(KeyboardInterrupt):
        list(worker_pool.run_tasks(nothing, lost, [1, 2], jobs=2))
    (pid,) = begun
    assert gone(pid)


def test_what_was_put_off_is_raised_at_the_end_of_the_block() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt):  # noqa: SIM117
        with deferred():
            os.kill(os.getpid(), signal.SIGINT)
            reached.append("the rest of the block")
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(SENT)


def test_a_process_that_is_started_meanwhile_holds_nothing_back() -> None:
    """It would outlive an interrupt that its group is sent."""
    code = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, ()), signal.getsignal(signal.SIGTERM))"
    with terminable(), deferred():
        child = subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.communicate()[0].split() == ["set()", str(signal.SIG_DFL.value)]


def test_a_signal_that_is_ignored_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminable(), deferred():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signals_are_held_back_in_the_block_alone() -> None:
    with pytest.raises(KeyboardInterrupt):  # noqa: SIM117
        with blocked(signal.SIGINT):
            # To this thread: any other would take what the process is sent.
            signal.raise_signal(signal.SIGINT)
            assert signal.sigpending() == {signal.SIGINT}
    assert not signal.sigpending()


def test_a_command_that_is_interrupted_while_it_imports_ends_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n", encoding="utf-8")
    ran = python("-c", START, "list", "--plugin", "own.py", cwd=tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")
