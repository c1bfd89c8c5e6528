"""What clients remember is written where it is, in memory or in a file: the numbers are those with copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from test_mirror.federations import TRAINABLE, quadratic, schedule
from test_mirror.support import HYPER
from torch import Tensor

from fedspec.catalogue import Algorithm, find
from fedspec.errors import PlanError
from fedspec.usual import needed
from fedspec_torch import cohorts, resume, simulate
from fedspec_torch.ranks.rows import Rows
from fedspec_torch.run import kept, rounds
from fedspec_torch.run.kept import Kept, is_written_over

pytestmark = pytest.mark.table(10)

SERVED = [row for row in TRAINABLE if "peers" not in row.takes]
ROUNDS = 4


def run_of(row: Algorithm, reading: str | None = None, **more: Any) -> Any:
    """Some rounds in which clients come, stay away and come again."""
    federation, *_ = quadratic(batch_size=3, way="looped")
    options = row.resolve(reading or row.readings[0].name, {n: v for n, v in more.items() if n in row.options})
    numbers = {**{n: HYPER[n] for n in needed(row, options)}, **more}
    return simulate(row.id, federation, plan=schedule(row), rounds=ROUNDS, reading=reading, **numbers)


def ended(run: Any) -> Any:
    list(run)
    return run


def with_copies(row: Algorithm, reading: str | None = None) -> Any:
    """The same as the text has it."""
    with patch.object(kept, "remembered", lambda state, *more: state):
        return ended(run_of(row, reading))


@pytest.fixture
def as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text on rows that are written where they are; :mod:`test_mirror.test_streamed` has a block after another."""
    monkeypatch.setattr(rounds, "STREAMED", {})


def rows_of(run: Any) -> list[Tensor]:
    """The stacks of a run that are written where they are."""
    found: list[Tensor] = []

    def look(tensor: Tensor) -> Tensor:
        if isinstance(tensor, Kept) or (isinstance(tensor, Rows) and tensor.kept):
            found.append(tensor)
        return tensor

    kept.each_tensor(look, run.state)
    return found


REMEMBERING = [row for row in SERVED if rows_of(run_of(row))]
READINGS = [(row, reading.name) for row in REMEMBERING for reading in row.readings]


def test_who_remembers() -> None:
    found = {row.id for row in REMEMBERING}
    assert found >= {"scaffold", "feddyn", "fed-lamb", "fed-ams", "vrl-sgd", "fednova-vr"}
    assert "fedavg" not in found and "fedada2" not in found


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize(("row", "reading"), READINGS, ids=lambda v: v if isinstance(v, str) else v.id)
def test_the_numbers_are_those_with_copies(row: Algorithm, reading: str) -> None:
    run, plain = ended(run_of(row, reading)), with_copies(row, reading)
    assert torch.equal(run.x, plain.x)
    assert run.history == plain.history


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("row", [row for row in REMEMBERING if row.event == "round"], ids=lambda row: row.id)
def test_of_neighbours_too(row: Algorithm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose rows are read where they are: the text reads them before it writes them."""
    monkeypatch.setattr(f"{__name__}.schedule", lambda row: cohorts(None, steps=1 if "one-step" in row.takes else 2))
    run, plain = ended(run_of(row)), with_copies(row)
    assert torch.equal(run.x, plain.x)


MEMBERS = ("scaffold", "feddyn", "fed-lamb", "fed-ams")


@pytest.mark.parametrize("shards", [None, 2])
@pytest.mark.parametrize("name", MEMBERS)
def test_rows_stay_where_they_are_in_memory_and_in_a_file(name: str, shards: int | None, tmp_path: Path) -> None:
    row = find(name)
    alone = ended(run_of(row, shards=shards))
    run = run_of(row, shards=shards, client_state=tmp_path)
    before = [place for rows in rows_of(run) for place in places(rows)]
    assert before and not [*tmp_path.iterdir()], "a file without a name"
    ended(run)
    assert [place for rows in rows_of(run) for place in places(rows)] == before
    assert torch.equal(run.x, alone.x)


def places(rows: Tensor) -> list[int]:
    """Where the memory of a stack begins."""
    return [p.data_ptr() for p in rows.parts.values()] if isinstance(rows, Rows) else [rows.data_ptr()]


def test_rows_that_no_client_has_written_take_no_room(tmp_path: Path) -> None:
    clients, d = 1000, 1 << 16
    with kept.Alike(clients):
        rows = torch.stack([torch.zeros(d)] * clients)
    assert rows.untyped_storage().nbytes() == 4 * d
    made = kept.remembered((rows,), clients, tmp_path)[0]
    made[[7]] = torch.ones(1, d)
    assert float(made.sum()) == d
    with patch.object(kept, "NamedTemporaryFile", named(tmp_path)):
        kept.remembered((rows,), clients, tmp_path)
        assert (tmp_path / "rows").stat().st_blocks * 512 < 4 * d * 10


def named(folder: Path) -> Any:
    """A file that keeps its name, so that it can be looked at."""

    def made(**more: Any) -> Any:
        return (folder / "rows").open("w+b")

    return made


def test_a_saved_run_goes_on_in_a_file(tmp_path: Path) -> None:
    row = find("scaffold")
    whole, run = ended(run_of(row)), run_of(row, client_state=tmp_path)
    run.step()
    run.save(tmp_path / "run.pt")
    again = resume(tmp_path / "run.pt", run.federation, client_state=tmp_path)
    assert is_written_over(again.state)
    assert torch.equal(ended(again).x, whole.x)
    # What is saved is a copy, which later rounds leave alone.
    assert torch.equal(ended(resume(tmp_path / "run.pt", run.federation)).x, whole.x)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    federation, *_ = quadratic()
    with pytest.raises(PlanError, match=r"client_state: .*none is no folder; make it first"):
        simulate("scaffold", federation, plan=cohorts(2), eta_l=0.1, eta=1.0, client_state=tmp_path / "none")
