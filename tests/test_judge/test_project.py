"""What ``[tool.fedspec.check]`` of a project's pyproject.toml says, and what a command line says beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_judge.support import fedspec, py

from fedspec.errors import FedspecError
from fedspec_suite.cli.project import defaults

TABLE = '[tool.fedspec.check]\nprofile = "quick"\nseed = 3\nreport = ["out.jsonl"]\n'


def project(folder: Path, text: str) -> Path:
    """A folder of a project that says so, below the one where it is said."""
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    (folder / "below").mkdir()
    return folder / "below"


def test_check_does_what_the_project_says_and_tells_it(tmp_path: Path) -> None:
    where = project(tmp_path, TABLE)
    ran = fedspec("check", py("right:fedavg"), cwd=where, cases=2)
    assert ran.code == 0 and "profile quick, seed 3" in ran.out
    assert "profile = quick, seed = 3" in ran.err and str(tmp_path / "pyproject.toml") in ran.err
    # A file lies where the project does, wherever the command is run.
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["level"] for row in rows} == {"server", "round"}


def test_the_command_line_counts(tmp_path: Path) -> None:
    where = project(tmp_path, TABLE)
    ran = fedspec("check", py("right:fedavg"), "--seed", "4", "--only", "fedavg/round", cwd=where)
    assert "profile quick, seed 4" in ran.out and "fedavg     round" in ran.out and "fedavg     server" not in ran.out
    # A part of it is no report of the project.
    assert "reports stay as they are" in ran.err and not (tmp_path / "out.jsonl").exists()


def test_no_other_command_reads_it(tmp_path: Path) -> None:
    ran = fedspec("smoke", py("right:fedavg"), cwd=project(tmp_path, TABLE))
    assert ran.code == 0 and "pyproject" not in ran.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sead = 3", "[tool.fedspec.check] has sead; known: profile, seed, jobs"),
        ('jobs = "2"', "jobs = '2'; it is of type int"),
        ("jobs = true", "jobs = True; it is of type int"),
        ("report = 'a.jsonl'", "report = 'a.jsonl'; it is of type list"),
    ],
)
def test_what_it_cannot_mean_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(FedspecError) as error:
        defaults(project(tmp_path, f"[tool.fedspec.check]\n{text}\n"))
    assert says in str(error.value) and str(tmp_path / "pyproject.toml") in str(error.value)


def test_quiet_prints_what_is_wrong_alone() -> None:
    ran = fedspec("check", py("right:fedavg"), "--only", "fedavg/server", "--profile", "quick", "-q")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    ran = fedspec("check", py("wrong:zero"), "--only", "fedavg/*", "--profile", "quick", "-q", explained=False)
    assert ran.code == 1 and "does not conform" in ran.out


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    ran = fedspec("check", "flower")
    assert ran.code == 2 and "unknown 'flower'; nearest: flwr" in ran.err


def test_a_file_without_its_attribute_is_told_what_to_say(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("", encoding="utf-8")
    for said in ("mine.py", "py:mine.py"):
        ran = fedspec("check", said, cwd=tmp_path)
        assert ran.code == 2 and "say what in the file is judged: py:mine.py:Subject" in ran.err
    ran = fedspec("check", "mine.py:Mine", cwd=tmp_path)
    assert ran.code == 2 and "subject: mine.py:Mine: write py:mine.py:Mine" in ran.err


def test_a_narrow_terminal_has_a_line_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    from fedspec.catalogue import CATALOGUE

    monkeypatch.setenv("COLUMNS", "80")
    lines = fedspec("list").out.splitlines()
    assert len(lines) == 2 + len(CATALOGUE) and max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[2:]] == [*CATALOGUE]
