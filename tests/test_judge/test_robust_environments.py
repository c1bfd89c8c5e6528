"""Making an environment: an interrupt ends it with everything it started, and whoever still writes holds the lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from test_judge.test_robust_process import gone, started

from fedspec_suite.subjects.making import try_lock

CODE = """
import sys
from pathlib import Path
from fedspec_suite.subjects.making import ended, locked
lock_file, pid_file = sys.argv[1:]
wait = "import os, time; open(%r, 'w').write(str(os.getpid())); time.sleep(600)" % pid_file
with locked(Path(lock_file), "package", print) as lock, open(lock_file + ".log", "w") as log:
    ended([sys.executable, "-S", "-c", wait], lock, log)
"""


def free(lock: Path) -> bool:
    with lock.open("a+b") as file:
        return try_lock(file.fileno())


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_nobody_makes_it_while_somebody_else_still_writes(sent: signal.Signals, tmp_path: Path) -> None:
    lock, file = tmp_path / "lock", tmp_path / "pid"
    judge = subprocess.Popen([sys.executable, "-c", CODE, str(lock), str(file)], stderr=subprocess.DEVNULL)
    pid = started(file)
    assert not free(lock)
    judge.send_signal(sent)
    judge.wait(60)
    if sent is signal.SIGKILL:
        # Nobody could end it: it goes on, and is waited for.
        assert not free(lock)
        os.kill(pid, signal.SIGKILL)
    assert gone(pid) and free(lock)
