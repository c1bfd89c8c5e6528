"""Helpers of the judge's tests: the command, run as a user runs it, and the subjects of this folder."""

from __future__ import annotations

import functools
import importlib.util
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fedspec_suite.cli.app import main
from fedspec_suite.judge.runner import PROFILES

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = Path(__file__).parent / "subjects"
MAIN = "from fedspec_suite.cli.app import main; main()"
START = "from fedspec_suite.cli.start import main; main()"
"""The command, and the command as it is installed, as a text for ``python``."""

FEW = 4
"""Cases of each law where a test is not about what so many cases find."""


@dataclass(frozen=True)
class Ran:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Its standard output as the list that ``--json`` prints."""
        rows = json.loads(self.out)
        assert isinstance(rows, list)
        return rows

    def refused(self, *words: str) -> None:
        """It ended with 2 and one line that says why, with all the words in it."""
        assert self.code == 2, self
        assert self.err.startswith("fedspec: ") and self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err and not self.out
        missing = [w for w in words if w not in self.err]
        assert not missing, f"{missing} not in {self.err}"


@functools.cache
def _forks(*words: str) -> subprocess.Popen[str]:
    """A process that runs commands, until this one ends."""
    text = Path(__file__).with_name("forks.py").read_text(encoding="utf-8")
    # As a text and not as a file, so that what it starts finds no file to import again.
    return subprocess.Popen(
        [sys.executable, "-c", text, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def fedspec(
    *arguments: str, cwd: Path | None = None, cases: int = PROFILES["quick"], explained: bool = True, out: str = ""
) -> Ran:
    """Run the command in a process of its own: no import hook of the tests, no warnings filter.

    Args:
        arguments: arguments behind ``fedspec``.
        cwd: folder in which it runs.
        cases: number of cases that its quick profile draws.
        explained: True: look for an explanation of an offer that does not conform, which takes long if there is none.
        out: a file that takes what it prints, and is not read.
    """
    return _asked(_forks(), arguments, cwd, judging=(cases, explained, True), out=out)


def with_own(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, cases: int = 0) -> Ran:
    """Run the command after files of own algorithms are read; with few cases, if asked, and failures as they come."""
    return _asked(_forks("own"), arguments, cwd, env, (cases, True, False) if cases else None)


def _asked(
    forks: subprocess.Popen[str],
    arguments: Sequence[str],
    cwd: Path | None,
    env: Mapping[str, str] | None = None,
    judging: tuple[int, bool, bool] | None = None,
    out: str = "",
) -> Ran:
    assert forks.stdin and forks.stdout
    with tempfile.TemporaryDirectory() as folder:
        said, err = Path(folder, "out"), Path(folder, "err")
        where = {"environment": {**os.environ, **(env or {})}, "folder": str(cwd or Path.cwd())}
        told = {"arguments": arguments, "judging": judging, "out": out or str(said), "err": str(err)}
        forks.stdin.write(json.dumps({**where, **told}) + "\n")
        forks.stdin.flush()
        code = int(forks.stdout.readline())
        return Ran(code, *(file.read_text(encoding="utf-8") if file.exists() else "" for file in (said, err)))


def python(*words: str, env: Mapping[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    """Python with these words, in a process of its own that may fail; it has this environment, and more if given."""
    told = {**os.environ, **(env or {})}
    return subprocess.run([sys.executable, *words], env=told, capture_output=True, text=True, check=False, **more)


def module_at(path: Path) -> Any:
    """The module of a file, under the file's name."""
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found and found.loader
    it = importlib.util.module_from_spec(found)
    found.loader.exec_module(it)
    return it


def inside(*arguments: str, cases: int = FEW) -> Ran:
    """Run the command in this process: cheaper, for what cases have little to do with."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    here = patch.object(sys, "argv", ["fedspec", *arguments]), patch.dict(PROFILES, quick=cases)
    with here[0], here[1], redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return Ran(code or 0, out.getvalue(), err.getvalue())


def check(
    implementation: str, *arguments: str, cwd: Path | None = None, cases: int = FEW, explained: bool = True
) -> Ran:
    """``fedspec check`` with few cases, in one process, as JSON."""
    few = ("--profile", "quick", "--jobs", "1", "--json")
    return fedspec("check", implementation, *few, *arguments, cwd=cwd, cases=cases, explained=explained)


def py(reference: str) -> str:
    """``right:fedavg`` as the judge takes it."""
    module, _, name = reference.partition(":")
    return f"{SUBJECTS / module}.py:{name}"


def standalone(fault: str = "") -> str:
    """The program that does not import fedspec."""
    return f"cmd:{shlex.join([sys.executable, str(SUBJECTS / 'standalone.py'), *([fault] if fault else [])])}"


def hostile_command(*words: str) -> list[str]:
    """The program that misbehaves, as a command."""
    return [sys.executable, "-S", str(SUBJECTS / "hostile.py"), *words]


def hostile(*words: str) -> str:
    """Hostile subject as the judge takes it."""
    return f"cmd:{shlex.join(hostile_command(*words))}"


def statuses(row: dict[str, Any]) -> dict[str, set[str]]:
    """The laws of a line by outcome."""
    out: dict[str, set[str]] = {}
    for o in row["obligations"]:
        out.setdefault(o["status"], set()).add(o["law"])
    return out


def judging(*arguments: str) -> subprocess.Popen[str]:
    """The command, in a process group of its own, as a terminal has it."""
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "check", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
