"""Progress before a terminal while a verdict is awaited, with the results of few cases first."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from fedspec.contract import Offer
from fedspec.reference import Reference
from fedspec_suite.judge import runner
from fedspec_suite.judge.runner import Far, judge_offer

ROOT = Path(__file__).resolve().parents[2]
ASKED = ("check", f"py:{ROOT}/examples/mine.py:Adapter", "--law", "follows-x", "--rounds", "2", "--clients", "2")


def before_a_terminal(*arguments: str, folder: Path) -> tuple[str, str]:
    """Standard output of the command, and the text on a terminal that is its standard error."""
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).with_name("fedspec")), *arguments]
    environment = {n: v for n, v in os.environ.items() if n not in ("PYTHONPATH", "CI", "NO_COLOR")} | {"TERM": "xterm"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment, cwd=folder) as ran:
        os.close(theirs)
        said = b""
        # At the end a terminal gives an error in the place of nothing.
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            said += part
        assert ran.stdout
        out = ran.stdout.read().decode()
    os.close(ours)
    return out, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode())


@pytest.mark.slow
def test_few_cases_are_told_first_and_only_there(tmp_path: Path) -> None:
    # No terminal is wide enough for this name, and how far it is has to be read all the same.
    deep = tmp_path / ("deep" * 30)
    deep.mkdir()
    shutil.copy(ROOT / "examples" / "mine.py", deep)
    mine = f"py:{deep}/mine.py:Adapter"
    out, seen = before_a_terminal("check", mine, *ASKED[2:], "--dim", "9", folder=tmp_path)
    assert "by 12 cases of each check: 1 of 1 claim follows x in quick cases; " in seen and "now 60 of each" in seen
    assert (
        out.startswith("1 of 1 claim follows x in cases of profile full; ")
        and "by 12 cases" not in out
        and "profile full" in out
    )
    assert re.search(r"[01] of 2 checks, follows-x/float(64|32), fedavg/server of /", seen)
    for more in (("--profile", "quick"), ("--quiet",), ("--json",)):
        assert "by 12 cases" not in before_a_terminal(*ASKED, "--dim", "9", *more, folder=tmp_path)[1], more


@pytest.mark.slow
def test_what_is_wrong_is_told_with_them(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "mine.py").read_text(encoding="utf-8")
    (tmp_path / "wrong.py").write_text(text.replace("+ self.h", "- self.h"), encoding="utf-8")
    out, seen = before_a_terminal("check", "py:wrong.py:Adapter", *ASKED[2:], "--dim", "9", folder=tmp_path)
    first = seen[: seen.index("now 60 of each")]
    assert "by 12 cases of each check: 1 of 1 claim does not conform." in first
    assert "the change is subtracted at fedavg.step" in first
    assert out.startswith("1 of 1 claim does not conform.")


def test_the_time_that_is_left_is_what_as_many_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([3.0 * k for k in range(10)])
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: next(now)))
    far = Far(10, begun=0)
    said = [far.next(f"law-{k}") for k in range(10)]
    assert said[0] == "0 of 10 checks, law-0" and said[3] == "3 of 10 checks, law-3"
    assert said[4:6] == ["4 of 10 checks, 18 s left, law-4", "5 of 10 checks, 15 s left, law-5"]


def test_all_that_are_asked_are_counted() -> None:
    said: list[str] = []
    offer = Offer("fedavg", "server", "mcmahan-2017", {"weights": "examples"})
    asked = judge_offer(Reference(), offer, cases=1, progress=said.append)
    status = {o.id: o.status for o in asked if o.law != runner.REQUIREMENT}
    told = [line.rpartition(", ")[2] for line in said]
    # Of a few it comes out only then that they are not about this offer.
    assert told == [id for id in status if id in told] and {status[id] for id in status if id not in told} <= {"skip"}
    assert [line.partition(" checks")[0] for line in said] == [f"{k} of {len(said)}" for k in range(len(said))]
