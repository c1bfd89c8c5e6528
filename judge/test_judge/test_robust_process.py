"""A subject in a process of its own: whatever it does with its pipes, the judge goes on, and nothing of it stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_judge.support import hostile, hostile_command, judging, python

from fedspec_suite.measure import pipes
from fedspec_suite.measure.pipes import Pipes, TooLong
from fedspec_suite.measure.process import Process, SubjectError, SubjectHangs

pytestmark = pytest.mark.table(1)

HELLO = 'import sys; sys.stdin.readline(); print(\'{"ok": true, "info": {"name": "a", "version": "1", ' + (
    '\\"offers\\": []}}\', flush=True); '
)


def program(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


@contextmanager
def piped(code: str) -> Iterator[Pipes]:
    child = subprocess.Popen(
        program(code), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    ours = Pipes(child)
    try:
        yield ours
    finally:
        child.kill()
        child.wait()
        ours.close()


def gone(pid: int) -> bool:
    """True if a process has ended, within some seconds; a zombie counts as ended."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_request_that_is_not_read_does_not_block() -> None:
    with piped("import time; time.sleep(600)") as ours, pytest.raises(TimeoutError, match="took no request"):
        ours.exchange(b"x" * 2**22 + b"\n", 0.3)


def test_answering_without_reading_is_not_enough() -> None:
    with piped("import time; print('{}', flush=True); time.sleep(600)") as ours, pytest.raises(TimeoutError):
        ours.exchange(b"x" * 2**22 + b"\n", 1.0)


def test_both_may_write_more_than_a_pipe_holds() -> None:
    code = "import sys; print('y' * 2**20, flush=True); n = len(sys.stdin.readline()); print(n, flush=True)"
    with piped(code) as ours:
        assert ours.exchange(b"x" * 2**20 + b"\n", 60) == b"y" * 2**20
        assert ours.exchange(b"", 60) == str(2**20 + 1).encode()


def test_a_line_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "LONGEST", 2**18)
    with piped("import os\nwhile True: os.write(1, b'x' * 4096)") as ours, pytest.raises(TooLong):
        ours.exchange(b"\n", 60)


FIRST = """
import resource, sys
from fedspec.contract import Case
from fedspec_suite.measure.process import Process, SubjectError

def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

answer, case = sys.argv[1:], Case("fedavg", "server", "mcmahan-2017", {}, "float64", {"w": [0.5]}, {"eta": 1.0})
begun = most()
try:
    with Process([sys.executable, "-S", "-c", *answer]) as subject:
        subject.start(case).step({"type": "messages", "messages": []})
except SubjectError as error:
    print(most() - begun >> 10, error)
"""
"""Script that prints the memory in MB that the judge takes for a program's answer, and the error."""

PUT = "import sys; sys.stdin.readline(); put = sys.stdout.write; "
INFO = 'put(\'{"ok": true, "info": {"name": "a", "version": "1", "offers": [\'); '
STARTED = "sys.stdin.readline(); print('{\"ok\": true}', flush=True); sys.stdin.readline(); "


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (f"{PUT}[put('x' * 2**20) for _ in range(300)]; put(chr(10))", "'hello' is longer than 1 MB"),
        (f"{PUT}{INFO}[put('{{}},' * 2**18) for _ in range(400)]; print('{{}}]}}}}')", "'hello' is longer than 1 MB"),
        # JSON that takes as much memory as any, and is as long as an answer may be.
        (f"{PUT}{INFO}put('[[]],' * 209_000); print('[[]]]}}}}'); sys.stdin.read()", "claims[0]: got a list"),
        (f"{PUT}{INFO}put('{{}},' * 349_000); print('{{}}]}}}}'); sys.stdin.read()", "claims[0]: has no 'algorithm'"),
        (f"{HELLO}{STARTED}[print('[' * 2**20, end='') for _ in range(300)]", "'step' is longer than 1.01 MB"),
    ],
    ids=["text", "objects", "lists", "within", "step"],
)
def test_a_first_answer_takes_no_memory(code: str, says: str) -> None:
    ran = python("-c", FIRST, code, timeout=120)
    took, _, said = ran.stdout.partition(" ")
    assert says in said, ran
    assert int(took) <= 64


def test_what_is_said_on_standard_error_is_bounded_and_never_blocks() -> None:
    code = "import os, sys; [os.write(2, b'\\xff' * 1000 + b'\\n') for _ in range(1000)]; print('done', flush=True)"
    with piped(code) as ours:
        assert ours.exchange(b"\n", 60) == b"done"
        assert len(ours._said) <= pipes.REMEMBERED
        assert ours.last_words()


def test_checks_do_not_depend_on_assertions() -> None:
    """``python -O`` takes assertions away."""
    code = (
        "import sys\nfrom fedspec_suite.measure.process import Process, SubjectError\n"
        "try:\n    Process([sys.executable, '-S', '-c', 'import sys; sys.stdin.readline(); print([1], flush=True)'])\n"
        "except SubjectError as error:\n    print(error)\n"
    )
    ran = python("-O", "-c", code, timeout=120)
    assert "which is not a JSON object with 'ok'" in ran.stdout, ran.stderr


def test_a_failed_handshake_leaves_nobody_behind(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    with pytest.raises(SubjectError, match="not today"):
        Process(hostile_command("family", str(file)))
    pids = [int(pid) for pid in file.read_text().split()]
    assert len(pids) == 2 and all(map(gone, pids))


def test_an_interrupted_handshake_leaves_nobody_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pid"

    def interrupted(self: Pipes, line: bytes, limit: float, most: int) -> bytes:
        while not file.exists() or not file.read_text():
            Pipes._send(self, memoryview(line))
            time.sleep(0.05)
        raise KeyboardInterrupt

    monkeypatch.setattr(Pipes, "exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Process(hostile_command("slow-hello", str(file)))
    assert gone(int(file.read_text()))


def test_the_handshake_has_a_limit_of_its_own() -> None:
    with pytest.raises(SubjectHangs, match=r"no answer to 'hello' within 0\.3 s"):
        Process(program("import time; time.sleep(600)"), limit=20, start_limit=0.3)


def started(file: Path, times: int = 1) -> int:
    """The process of the subject that was started so many times."""
    for _ in range(1200):
        pids = file.read_text().split() if file.exists() else []
        if len(pids) >= times:
            return int(pids[-1])
        time.sleep(0.05)
    raise AssertionError("the subject was never started")


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupt_in_the_handshake_stops_the_subject(sent: signal.Signals, code: int, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    judge = judging(hostile("slow-hello", str(file)))
    pid = started(file)
    os.kill(judge.pid, sent)
    judge.communicate(timeout=60)
    assert judge.returncode == code
    assert gone(pid)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_subject_ends_with_a_judge_that_is_killed(jobs: str, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    judge = judging(hostile("pid", str(file)), hostile("sleepy"), "--profile", "soak", "--jobs", jobs)
    # The first handshake is only asked for the offers.
    pid = started(file, times=2)
    judge.kill()
    judge.communicate(timeout=60)
    assert gone(pid)


BUSY = """
started = threading.Timer.start
def late(timer):
    started(timer)
    time.sleep(0.1 * (next(times) < 2))
times, threading.Timer.start = itertools.count(), late
"""
"""Twice the hook that sends the signal again has not returned when it comes."""


@pytest.mark.parametrize("machine", ["", BUSY], ids=["quiet", "busy"])
@pytest.mark.parametrize(
    ("sent", "told"), [("SIGTERM", "Terminated"), ("SIGHUP", "Terminated"), ("SIGINT", "KeyboardInterrupt")]
)
def test_a_signal_that_arrives_in_a_finaliser_is_not_lost(sent: str, told: str, machine: str) -> None:
    """Python drops what is raised there: the signal comes again, and ends what the block does."""
    code = f"""
import itertools, os, signal, threading, time
from fedspec_suite.measure.interrupts import terminable
{machine}

class Untimely:
    def __del__(self):
        os.kill(os.getpid(), signal.{sent})
        time.sleep(0.01)

try:
    with terminable():
        Untimely()
        time.sleep(60)
        print("went on")
except KeyboardInterrupt as told:
    print(type(told).__name__)
"""
    done = python("-c", code, timeout=50)
    assert (done.stdout, done.stderr) == (f"{told}\n", "")
