"""Outputs of the command: a full disk and a closed output give one line and no traceback."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_judge.support import MAIN, fedspec

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

COMMANDS = [
    ("check", "spec", "--only", "fedavg/server", "--law", "repeats", "--profile", "quick", "--jobs", "1"),
    ("check", "spec", "--only", "fedavg/server", "--law", "repeats", "--profile", "quick", "--jobs", "1", "--json"),
    ("list",),
    ("show", "fedavg"),
    ("laws", "--json"),
    ("graph",),
    ("claims",),
    ("mutants", "list"),
    ("smoke", "spec"),
    ("vectors", "--help"),
    ("subjects",),
    ("--version",),
]
FULL = "fedspec: standard output: cannot be written: No space left on device\n"
CLOSED = "fedspec: standard output: closed, so that nothing could be read of what is found\n"
quick = pytest.mark.parametrize("words", COMMANDS[2:4] + COMMANDS[-1:], ids=" ".join)
each = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)


def ended(words: tuple[str, ...], **more: Any) -> tuple[int, str]:
    ran = subprocess.run(
        [sys.executable, "-c", MAIN, *words], stderr=subprocess.PIPE, text=True, timeout=300, check=False, **more
    )
    return ran.returncode, ran.stderr


@each
def test_a_full_disk_behind_any_command_is_told(words: tuple[str, ...]) -> None:
    ran = fedspec(*words, cases=1, out="/dev/full")
    assert (ran.code, ran.err) == (2, FULL)


@quick
def test_a_closed_output_is_told(words: tuple[str, ...]) -> None:
    assert ended(words, preexec_fn=lambda: os.close(1)) == (2, CLOSED)


def test_who_reads_no_errors_misses_none() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", MAIN, "list"],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.close(2),
        text=True,
        check=False,
    )
    assert ran.returncode == 0 and "fedavg" in ran.stdout


@pytest.mark.parametrize("words", [("list",), ("laws", "--json"), *COMMANDS[:2]], ids=" ".join)
def test_a_reader_that_stops_changes_no_exit_code(words: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    assert ended(words, stdout=write) == (0, "")
    os.close(write)


def small_files() -> None:
    """No file may grow beyond 2 KB: the system then answers like a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("vectors", "export", "{folder}", "--format", "jsonl"), "{folder}"),
        (("check", "spec", "--only", "fedavg/server", "--profile", "quick", "--report", "{folder}/r.jsonl"), "r.jsonl"),
        pytest.param(
            ("simulate", "fedavg", "--rounds", "2", "--out", "{folder}/run"),
            "--out {folder}/run: cannot be written",
            marks=pytest.mark.outside,
        ),
        (
            ("simulate", "fedavg", "--rounds", "2", "--out", "{folder}/run", "--save", "{folder}/run.pt"),
            "--save {folder}/run.pt: cannot be written",
        ),
    ],
    ids=["vectors", "report", "simulate", "save"],
)
def test_files_that_do_not_fit_are_named(words: tuple[str, ...], named: str, tmp_path: Path) -> None:
    given = tuple(word.format(folder=tmp_path) for word in words)
    # Python does not see that a compiled file was cut off, and every later process would fail on it.
    caches = {"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    code, said = ended(given, stdout=subprocess.DEVNULL, preexec_fn=small_files, env=os.environ | caches)
    assert code == 2 and named.format(folder=tmp_path) in said
    assert "Traceback" not in said and "a bug of fedspec" not in said
