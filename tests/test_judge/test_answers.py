"""docs/answers.md: every command in it can be given, and those that take no time print what the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from test_judge.support import inside

from fedspec_suite.cli import app
from fedspec_suite.subjects import environments

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "answers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n\$ (.*?)^```", TEXT, re.M | re.S)
COMMANDS = [shlex.split(block.splitlines()[0])[1:] for block in BLOCKS if block.startswith("fedspec ")]
CHEAP = [block for block in BLOCKS if block.startswith(("fedspec claims show", "fedspec mutants", "fedspec show"))]


def printed(block: str) -> list[str]:
    """The lines that it is said to print."""
    return [line for line in block.splitlines()[1:] if line != "..."]


def test_there_are_ten() -> None:
    sections = re.split(r"^## ", TEXT, flags=re.M)[1:]
    assert [int(section.split(".")[0]) for section in sections] == list(range(1, 11))
    for section in sections:
        assert re.search(r"^[\w-]+/[\w-]+, (issue|pull request) \d+ \(\w+ 20\d\d, ", section, re.M), section[:80]
        assert "\n$ " in section


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_can_be_given(words: list[str]) -> None:
    command = typer.main.get_command(app)
    rest = list(words)
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    parameters = command.make_context("fedspec", rest).params
    names = parameters.get("implementations") or ()
    assert set(names) <= set(environments.bundled())


def test_some_are_cheap() -> None:
    assert len(CHEAP) >= 5


@pytest.mark.parametrize("block", CHEAP, ids=[block.splitlines()[0] for block in CHEAP])
def test_what_it_prints(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    command, *_ = block.splitlines()
    said = [line.rstrip() for line in inside(*shlex.split(command)[1:]).out.splitlines()]
    assert [line for line in printed(block) if line not in said] == []


def test_what_the_script_prints() -> None:
    (block,) = [b for b in BLOCKS if b.startswith("python -c")]
    script, output = re.fullmatch(r"python -c '\n(.*?)\n'\n(.*)", block, re.S).groups()  # type: ignore[union-attr]
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout == output
