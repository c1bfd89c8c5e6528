"""The walk of docs/new-algorithm.md works: its blocks, applied to a copy of the project, make a judged algorithm."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
from test_judge.support import FEW, ROOT, python

WALK = ROOT / "docs/new-algorithm.md"
BLOCK = re.compile(r"<!-- (?P<kind>new|cp|run|test): (?P<what>\S+) -->\n```\w*\n(?P<text>.*?)```\n", re.DOTALL)
COPIED = ("spec/fedspec", "impl/fedspec_torch", "judge/fedspec_suite", "judge/fedspec_properties")

COMMAND = """
from fedspec_suite.cli.app import main
from fedspec_suite.judge import runner

runner.PROFILES["quick"], runner.SHRINKING = {cases}, 0
main()
"""
"""The command, with fewer cases and no failure made smaller: here it is asked whether they run, and a rule of two lines
is easily told.
"""


def blocks() -> list[tuple[str, str, str]]:
    text = WALK.read_text(encoding="utf-8")
    return [(m["kind"], m["what"], m["text"]) for m in BLOCK.finditer(text)]


def test_the_walk_has_at_most_five_new_files() -> None:
    kinds = [kind for kind, *_ in blocks()]
    assert kinds == ["cp", "run", "new", "run", "new", "run", "cp", "test", "run"]
    assert kinds.count("new") + kinds.count("cp") <= 5, "an algorithm is at most five files"


@pytest.mark.slow
def test_the_walk(tmp_path: Path) -> None:
    for folder in COPIED:
        # With what is compiled: each file keeps its time, so that nothing is compiled again.
        shutil.copytree(ROOT / folder, tmp_path / folder)
    where = os.pathsep.join(str(tmp_path / folder.partition("/")[0]) for folder in COPIED)
    there = partial(python, cwd=tmp_path, env={"PYTHONPATH": where})

    def fedspec(*words: str, cases: int = FEW) -> subprocess.CompletedProcess[str]:
        return there("-c", COMMAND.format(cases=cases), *words)

    checked = []
    for kind, what, text in blocks():
        match kind:
            case "cp":
                _, source, target = text.split()
                assert not (tmp_path / target).exists()
                (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, tmp_path / target)
            case "new":
                assert not (tmp_path / what).exists()
                (tmp_path / what).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / what).write_text(text, encoding="utf-8")
            case "test":
                by_hand = there("-m", *text.split())
                assert by_hand.returncode == int(what), by_hand.stdout
            case "run":
                ran = fedspec(*text.split()[1:], "--jobs", "1", "--json", cases=FEW if int(what) else 2)
                assert ran.returncode == int(what), ran.stderr + ran.stdout
                results = json.loads(ran.stdout)
                assert {r["algorithm"] for r in results} == {"fedema"}
                checked.append(results)
    before, after, spoiled, _ = checked
    assert ["unrolled" in {o["law"] for o in one[0]["obligations"]} for one in (before, after)] == [False, True]
    for wrong in spoiled:
        failed = {o["law"] for o in wrong["obligations"] if o["status"] == "fail"}
        assert {"follows-x", "unrolled"} <= failed
        assert "the average is a sum" in wrong["nearest"]
    shown = fedspec("show", "fedema")
    assert shown.returncode == 0 and "fedema.step" in shown.stdout
