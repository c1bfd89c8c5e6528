"""What the pages show of a run is what the command prints, line by line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from test_judge.results import asked, printed, result

from fedspec_suite.measure.extent import Extent
from fedspec_suite.measure.verdict import Conformity, Status

ROOT = Path(__file__).resolve().parents[2]
HEAD = next(line for line in printed([result(Conformity.CONFORMS, asked("follows-x"))]) if "reading claimed" in line)

EXTENT: Extent = {
    "coordinates": (1, 999),
    "blocks": (1, 5),
    "axes": (1, 3),
    "rounds": (1, 50),
    "clients": (1, 50),
    "steps": (1, 20),
    "examples": (0, 10**9),
    "magnitude": (2.1e-10, 2.8e6),
}


def excerpt(file: str, command: str) -> list[str]:
    """What a document prints below a command."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return text.partition(f"$ {command}\n")[2].partition("```")[0].splitlines()


def test_the_guide_shows_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    # The guide's reader has activated the environment; whoever runs the tests need not have.
    monkeypatch.setattr(shutil, "which", lambda program: program)
    command = "fedspec check py:examples/mine.py:Subject"
    withheld = [asked("follows-delta", Status.SKIP, dtype) for dtype in ("float64", "float32")]
    r = result(
        Conformity.CONFORMS,
        *([replace(asked("follows-x"), extent=EXTENT)] * 48),
        *withheld,
        options={"weights": "examples"},
        command=f"{command} --only fedavg/server",
    )
    *shown, last = excerpt("docs/subjects.md", command)
    *lines, _ = printed([r])
    assert shown == lines
    assert last.startswith("profile full, seed 0, ") and last.endswith(" s; 2 obligations not offered")


@pytest.mark.parametrize("file", ["docs/reading-a-verdict.md", "docs/subjects.md"])
def test_no_document_shows_another_table(file: str) -> None:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    heads = [line for line in lines if "reading claimed" in line and "passed" in line]
    assert heads and all(line.split() == HEAD.split() for line in heads)
    assert not [line for line in lines if line.startswith(("each line again", "subject  "))]


def like(line: str) -> str:
    """A line as it prints anywhere: without the seconds, and the spaces at its end."""
    return re.sub(r", \d+ s(?=;|$)", ", SECONDS", line).rstrip()


def commands(file: str) -> list[tuple[str, list[str]]]:
    """What a page gives at a prompt, and the lines that it shows below each."""
    found = []
    for block in re.findall(r"^```\n(\$ .*?)^```", (ROOT / file).read_text(encoding="utf-8"), re.M | re.S):
        starts = [m.start() for m in re.finditer(r"^\$ ", block, re.M)]
        for begin, end in pairwise([*starts, len(block)]):
            command, _, shown = re.sub(r"\\\n *", "", block[begin + 2 : end]).partition("\n")
            found.append((command, [like(line) for line in shown.splitlines()]))
    return found


@pytest.mark.night
@pytest.mark.parametrize("file", ["docs/reading-a-verdict.md", "docs/in-your-ci.md"])
def test_what_a_page_shows_is_printed(file: str, tmp_path: Path) -> None:
    """Every line of it; where the page leaves none out, no other."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "wrong.py").write_text((ROOT / "examples/mine.py").read_text().replace("+ self.h", "- self.h"))
    here = f'fedspec() {{ "{sys.executable}" -c "from fedspec_suite.cli_start import main; main()" "$@"; }}'
    pytest_ = f'pytest() {{ COLUMNS=80 "{sys.executable}" -m pytest "$@"; }}'
    for command, shown in commands(file):
        ran = subprocess.run(
            ["bash", "-c", f"{here}; {pytest_}; {command}"],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [like(line) for line in ran.stdout.splitlines()]
        missing = [line for line in shown if line not in {*lines, "..."}]
        assert not missing and ("..." in shown or not shown or shown == lines), (command, missing, ran.stdout)
