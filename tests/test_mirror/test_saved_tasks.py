"""Runs of ``fedspec simulate`` that are killed in the middle and gone on with: all data, models and algorithms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_mirror.test_broken_off import CtrlC

from fedspec.catalogue import CATALOGUE
from fedspec.usual import usual
from fedspec_torch import resume, simulate
from fedspec_torch.run.runs import Run
from fedspec_torch.tasks import plan, task
from fedspec_torch.tasks.known import TASKS

pytestmark = pytest.mark.table(10)

ASKED = [(data, model) for data, kind in TASKS.items() for model in kind.models]
# An example of this table is no picture.
ASKED.remove(("breast-cancer", "cnn"))


def begun(algorithm: str, data: str, model: str | None = None, file: Path | None = None) -> Run:
    """The run that the command begins or, from a file, goes on with: data and model are made anew for each."""
    row, clients = CATALOGUE[algorithm], 10 if data == "one-class" else 4
    made = task(data, model, clients=clients, batch_size=2, seed=1)
    federation = replace(made.federation, way="looped")
    if file:
        return resume(file, federation, test=made.test)
    schedule = plan(row, clients, 3, steps=2, delay=2, seed=1)
    return simulate(row, federation, plan=schedule, rounds=2, test=made.test, **usual(row))


def goes_on(monkeypatch: pytest.MonkeyPatch, file: Path, algorithm: str, data: str, model: str | None = None) -> None:
    """A run that is saved after one round, and killed in the next, comes to the rows and the model of a whole one."""
    whole, killed = begun(algorithm, data, model), begun(algorithm, data, model)
    rows = [*whole]
    killed.step()
    killed.save(file)
    CtrlC(monkeypatch).at = 1
    with pytest.raises(KeyboardInterrupt):
        killed.step()
    monkeypatch.undo()
    again = begun(algorithm, data, model, file)
    assert len(again.history) == 1
    again.step()
    assert again.history == rows
    assert torch.equal(again.x, whole.x)


@pytest.mark.parametrize(("data", "model"), ASKED)
def test_data_and_models(data: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SCAFFOLD's clients keep something between rounds."""
    goes_on(monkeypatch, tmp_path / "run.pt", "scaffold", data, model)
