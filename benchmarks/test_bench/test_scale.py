"""``make scale``: the plain loops compute what the algorithms' texts do, and a store is gone on with."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fedspec_bench import scale, scale_page
from fedspec_bench.scale_loops import LOOPS


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one size, and a test process that is not pinned."""
    monkeypatch.setattr(scale, "PARAMETERS", (10**3,))
    monkeypatch.setattr(scale, "CLIENTS", (1, 3))
    monkeypatch.setattr(scale, "pinned", lambda cores: None)
    monkeypatch.setattr(scale, "import_all", lambda: None)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", LOOPS)
def test_a_loop_ends_with_the_loss_of_ours(algorithm: str) -> None:
    row = scale.row_of(algorithm, 10**3, 3, "cpu", scale.measured)
    assert not row["void"] and row["loop"]["loss"] < row["loop"]["begun"] - 0.01


def test_another_loss_voids_a_row() -> None:
    def side(who: str, *row: Any) -> dict[str, Any]:
        return {"begun": 2.0, "loss": 1.0 + 0.002 * (who == "ours"), "rate": 1.0, "bytes": 1}

    assert scale.row_of("fedavg", 10, 1, "cpu", side)["void"] == "ends with loss 1.002, the loop with 1"
    assert scale_page.ratio(scale.row_of("fedavg", 10, 1, "cpu", side), "rate") is None


@pytest.mark.parametrize("gpu", [False, True])
def test_a_store_is_gone_on_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, gpu: bool) -> None:
    asked: list[tuple[Any, ...]] = []

    def row_of(algorithm: str, d: int, n: int, device: str, side: Any) -> dict[str, Any]:
        asked.append((algorithm, d, n))
        return {"algorithm": algorithm, "parameters": d, "clients": n, "device": device, "void": "not measured"}

    monkeypatch.setattr(scale, "row_of", row_of)
    monkeypatch.setattr(sys, "argv", ["scale", "--store", str(tmp_path / "s"), *["--gpu", "--device", "cpu"] * gpu])
    scale.main()
    every = [(algorithm, 10**3, n) for n in (1, 3) for algorithm in LOOPS]
    assert asked == every
    lines = (tmp_path / "s").read_text().splitlines()
    (tmp_path / "s").write_text("\n".join(lines[1:]) + "\n")
    scale.main()
    assert asked == [*every, every[0]]


def test_the_page_has_a_line_for_each_size() -> None:
    sides = {"ours": {"rate": 3.0, "bytes": 50}, "loop": {"rate": 2.0, "bytes": 100}}
    shared = {"algorithm": "fedavg", "clients": 10, "device": "cpu", "void": "", **sides}
    rows = [json.loads(json.dumps({**shared, "parameters": d})) for d in (10**4, 10**6)]
    assert scale_page.table(rows)[2:] == ["| 10,000 | 10 | 1.5 |", "| 1,000,000 | 10 | 1.5, 0.5 |"]
