"""The page about training runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "simulate.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(BLOCKS[0], str(PAGE), "exec"), names)
    rounds = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert len(rounds) == 30 and float(rounds[-1][2]) > float(rounds[0][2])
    run, again = names["run"], names["again"]
    assert [r.loss for r in again.history][:10] == [r.loss for r in run.history][:10]  # type: ignore[attr-defined]
    assert len(again.history) == 30  # type: ignore[attr-defined]


def test_the_python_about_datasets_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _, block = BLOCKS
    exec(compile(block, str(PAGE), "exec"), {})
    rounds = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert len(rounds) == 20 and float(rounds[-1][2]) > max(0.6, float(rounds[0][2]))
    assert (tmp_path / "split.png").read_bytes().startswith(b"\x89PNG")
