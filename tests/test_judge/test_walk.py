"""The walk through CONTRIBUTING.md works: its blocks, applied to a copy of the project, make a judged algorithm."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- (?P<kind>new|edit|run): (?P<what>\S+) -->\n```\w*\n(?P<text>.*?)```\n", re.DOTALL)
COPIED = ("spec/fedspec", "tests/fedspec_suite")


def blocks() -> list[tuple[str, str, str]]:
    text = (HOME / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return [(m["kind"], m["what"], m["text"]) for m in BLOCK.finditer(text)]


def edit(path: Path, diff: str) -> None:
    """Apply lines that begin with a blank (context) or a plus (added)."""
    lines = diff.splitlines()
    assert all(line[0] in " +" for line in lines)
    before = "".join(f"{line[1:]}\n" for line in lines if line[0] == " ")
    after = "".join(f"{line[1:]}\n" for line in lines)
    old = path.read_text(encoding="utf-8")
    assert old.count(before) == 1, f"{before!r} stands {old.count(before)} times in {path}"
    path.write_text(old.replace(before, after), encoding="utf-8")


@pytest.mark.slow
def test_the_walk(tmp_path: Path) -> None:
    for folder in COPIED:
        shutil.copytree(HOME / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    where = os.pathsep.join(str(tmp_path / folder.partition("/")[0]) for folder in COPIED)
    environment = {**os.environ, "PYTHONPATH": where}

    def fedspec(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from fedspec_suite.cli import main; main()", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    kinds = []
    for kind, what, text in blocks():
        kinds.append(kind)
        match kind:
            case "new":
                assert not (tmp_path / what).exists()
                (tmp_path / what).write_text(text, encoding="utf-8")
            case "edit":
                edit(tmp_path / what, text)
            case "run":
                ran = fedspec(*text.split()[1:], "--json")
                assert ran.returncode == int(what), ran.stderr + ran.stdout
                results = json.loads(ran.stdout)
                assert {r["algorithm"] for r in results} == {"fedema"}
    assert kinds == ["new", *["edit"] * 2, "run", "edit", "run"]
    for wrong in results:
        failed = {o["law"] for o in wrong["obligations"] if o["status"] == "fail"}
        assert {"follows-x", "unrolled"} <= failed
        assert "the average is a sum" in wrong["nearest"]
    shown = fedspec("show", "fedema")
    assert shown.returncode == 0 and "fedema.step" in shown.stdout
