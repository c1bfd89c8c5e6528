"""The Python of the pages about training runs as it stands, and so does the worked example that one of them names."""

from __future__ import annotations

import csv
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLE = DOCS.parent / "examples" / "own_dataset.py"
BLOCKS = {
    page: re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    for page in ("simulate.md", "own-data.md", "tune.md")
}


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a block of a page in a folder of its own, and returns its names and the words of each line printed."""
    monkeypatch.chdir(tmp_path)

    def run(page: str, number: int = 0) -> tuple[dict[str, Any], list[list[str]]]:
        names: dict[str, Any] = {}
        exec(compile(BLOCKS[page][number], page, "exec"), names)
        return names, [line.split() for line in capsys.readouterr().out.splitlines()]

    return run


def test_the_python_of_the_page_runs(shown: Any) -> None:
    names, rounds = shown("simulate.md")
    assert len(rounds) == 30 and float(rounds[-1][2]) > float(rounds[0][2]) and len(BLOCKS["simulate.md"]) == 1
    run, again = names["run"], names["again"]
    assert [r.loss for r in again.history][:10] == [r.loss for r in run.history][:10]
    assert len(again.history) == 30


@pytest.mark.parametrize(("block", "many", "least"), [(0, 20, 0.6), (1, 60, 0.8)], ids=["datasets", "batches"])
def test_the_python_about_own_data_runs(block: int, many: int, least: float, shown: Any, tmp_path: Path) -> None:
    _, rounds = shown("own-data.md", block)
    assert len(rounds) == many and float(rounds[-1][2]) > max(least, float(rounds[0][2]))
    assert block or (tmp_path / "split.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_python_about_tuning_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    block, pictured = BLOCKS["tune.md"]
    names: dict[str, Any] = {}
    exec(compile(block, "tune.md", "exec"), names)
    first, *rounds = capsys.readouterr().out.splitlines()
    assert first.endswith("of 6 by what is held out: 6 of 30 clients")
    scores = {tuple(t.settings.values()): t.score for t in names["found"].trials}
    assert min(scores, key=lambda tried: scores[tried]) == tuple(names["found"].choice.values())
    assert len(rounds) == 30 and float(rounds[-1].split()[1]) > 0.8
    logged = list(csv.DictReader((tmp_path / "run.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["precision"] for row in logged] == [row.split()[2] for row in rounds]
    assert (tmp_path / "run.pt").exists()
    exec(compile(pictured, "tune.md", "exec"), names)
    assert (tmp_path / "runs.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_from_a_dataset_to_a_picture(tmp_path: Path, capsys: Any) -> None:
    """On fewer rounds and rates."""
    example, threads = runpy.run_path(str(EXAMPLE)), torch.get_num_threads()
    grid: dict[str, dict[str, list[float]]] = example["GRID"]
    for rates in grid.values():
        rates.update({name: values[:1] for name, values in rates.items()})
    rates["eta_l"] = [0.1, 0.3]
    example["main"](tmp_path, rounds=2)
    torch.set_num_threads(threads)
    assert all((tmp_path / f).read_bytes().startswith(b"\x89PNG") for f in ("split.png", "runs.png"))
    told = capsys.readouterr().out
    for algorithm in grid:
        with (tmp_path / f"{algorithm}.csv").open() as log:
            rows = [*csv.DictReader(log)]
        assert [row["round"] for row in rows] == ["0", "1"]
        last = f"{algorithm}: accuracy {float(rows[-1]['accuracy']):.3f}, macro F1 {float(rows[-1]['macro F1']):.3f}"
        assert last in told
    assert re.search(r"scaffold: \{'eta_l': 0\.[13]\} of 2", told)
    assert "(../examples/own_dataset.py)" in (DOCS / "own-data.md").read_text(encoding="utf-8")
