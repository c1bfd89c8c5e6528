"""docs/answers.md: ten sections, and every command in them can be given."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from fedspec_suite.cli import app
from fedspec_suite.subjects import environments

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "answers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n\$ (.*?)^```", TEXT, re.M | re.S)
COMMANDS = [shlex.split(block.splitlines()[0])[1:] for block in BLOCKS if block.startswith("fedspec ")]


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
