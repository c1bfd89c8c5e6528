"""The example from a Dataset to a picture runs as it stands, on fewer rounds and rates."""

from __future__ import annotations

import csv
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

FILE = Path(__file__).resolve().parents[2] / "examples" / "own_dataset.py"


@pytest.mark.slow
def test_from_a_dataset_to_a_picture(tmp_path: Path, capsys: Any) -> None:
    example, threads = runpy.run_path(str(FILE)), torch.get_num_threads()
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


def test_the_page_names_it() -> None:
    page = (FILE.parents[1] / "docs" / "simulate.md").read_text(encoding="utf-8")
    assert "(../examples/own_dataset.py)" in page
