"""Memory of clients is written in place, in memory or in a file; a round that breaks off is undone."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from test_mirror.federations import TRAINABLE, hyper, quadratic, schedule
from test_mirror.support import HYPER, tensors
from torch import Tensor

from fedspec.catalogue import Algorithm, find
from fedspec.errors import PlanError
from fedspec.usual import needed
from fedspec_torch import CheckpointError, cohorts, resume, simulate
from fedspec_torch.fast_paths import servers
from fedspec_torch.federation.training import Training
from fedspec_torch.ranks import undo
from fedspec_torch.ranks.rows import Rows
from fedspec_torch.run import client_memory, runs, text_clients
from fedspec_torch.run.client_memory import InPlaceStack, is_written_over

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
    """Last model of a run that copies the memory, as the text does."""
    with patch.object(client_memory, "remembered", lambda state, *more: state):
        return ended(run_of(row, reading))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the text on all rows; :mod:`test_mirror.test_sums` has a block after another."""
    monkeypatch.setattr(text_clients, "sums_of", lambda *args, **kwargs: None)


def rows_of(run: Any) -> list[Tensor]:
    """The stacks of a run that are written where they are."""
    found: list[Tensor] = []

    def look(tensor: Tensor) -> Tensor:
        if isinstance(tensor, InPlaceStack) or (isinstance(tensor, Rows) and tensor.kept):
            found.append(tensor)
        return tensor

    client_memory.each_tensor(look, run.state)
    return found


REMEMBERING = [row for row in SERVED if rows_of(run_of(row))]
READINGS = [(row, reading.name) for row in REMEMBERING for reading in row.readings]


def test_who_remembers() -> None:
    found = {row.id for row in REMEMBERING}
    assert found >= {"scaffold", "feddyn", "fed-lamb", "fed-ams", "vrl-sgd", "fednova-vr"}
    assert "fedavg" not in found and "fedada2" not in found


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("row", "reading"), READINGS, ids=lambda v: v if isinstance(v, str) else v.id)
def test_the_numbers_are_those_with_copies(row: Algorithm, reading: str) -> None:
    run, plain = ended(run_of(row, reading)), with_copies(row, reading)
    assert torch.equal(run.x, plain.x)
    assert run.history == plain.history


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("row", [row for row in REMEMBERING if row.event == "round"], ids=lambda row: row.id)
def test_of_neighbours_too(row: Algorithm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read neighbours' rows in place: the text reads them before it writes them."""
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
    """Addresses of a stack's memory."""
    return [p.data_ptr() for p in rows.parts.values()] if isinstance(rows, Rows) else [rows.data_ptr()]


def test_rows_that_no_client_has_written_take_no_room(tmp_path: Path) -> None:
    clients, d = 1000, 1 << 16
    with client_memory.Alike(clients):
        rows = torch.stack([torch.zeros(d)] * clients)
    assert rows.untyped_storage().nbytes() == 4 * d
    made = client_memory.remembered((rows,), clients, tmp_path)[0]
    made[[7]] = torch.ones(1, d)
    assert float(made.sum()) == d
    with patch.object(client_memory, "NamedTemporaryFile", named(tmp_path)):
        client_memory.remembered((rows,), clients, tmp_path)
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
    with pytest.raises(PlanError, match=r"client_state: .*none doesn't exist; make it first"):
        simulate("scaffold", federation, plan=cohorts(2), eta_l=0.1, eta=1.0, client_state=tmp_path / "none")


SERVERS = ["fedadagrad", "fedadam", "fedamsgrad"]


def served(name: str) -> Any:
    """A run whose server writes over its state from its second round on."""
    return simulate(name, quadratic(way="looped")[0], plan=cohorts(4), rounds=4, block=1, **hyper(find(name)))


class CtrlC:
    """An interrupt at the k-th time that a block of clients is asked for gradients."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.at, oracle = 0, -1, Training.oracle

        def interrupted(clients: Training, who: Any) -> Any:
            self.asked += 1
            if self.asked == self.at:
                raise KeyboardInterrupt
            return oracle(clients, who)

        monkeypatch.setattr(Training, "oracle", interrupted)

    def last_of(self, run: Any) -> None:
        """Set it to the last block of the round after the first; the first is played."""
        run.step()
        self.asked = 0
        run.step()
        asked, self.asked, self.at = self.asked, 0, -1
        self.at = asked


@pytest.fixture
def ctrl_c(monkeypatch: pytest.MonkeyPatch) -> CtrlC:
    return CtrlC(monkeypatch)


def goes_on(run: Any, again: Any, want: Any, file: Path) -> None:
    """A run that was broken off in round 1 is saved as it was after round 0, and either comes to the same."""
    assert run.whole and len(run.history) == 1
    run.save(file)
    for one in (run, resume(file, again.federation)):
        ended(one)
        assert one.history == want.history and torch.equal(one.x, want.x)


def copied(state: Any) -> dict[str, torch.Tensor]:
    """Its tensors, plain ones of their own."""
    found = {n: part.gathered() if isinstance(part, Rows) else part for n, part in tensors(state).items()}
    return {n: part.as_subclass(torch.Tensor).clone() for n, part in found.items()}


BROKEN = [(row.id, late, shards) for row in REMEMBERING for late in (False, True) for shards in (None, 2)]
BROKEN += [(name, False, None) for name in SERVERS]
"""Rows whose rounds break off in their last block, or late, when all rows are written."""


@pytest.mark.table(4)
@pytest.mark.parametrize(("name", "late", "shards"), BROKEN)
def test_a_round_that_breaks_off_is_undone(
    name: str, late: bool, shards: int | None, tmp_path: Path, ctrl_c: CtrlC, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory of clients is unchanged, and a server in place has written nothing while clients train."""

    def begun() -> Any:
        return served(name) if name in SERVERS else run_of(find(name), block=1, shards=shards)

    want, run = ended(begun()), begun()
    ctrl_c.last_of(begun())
    at, ctrl_c.at = ctrl_c.at, -1
    run.step()
    then = copied(run.state)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        ctrl_c.asked, ctrl_c.at = 0, -1 if late else at
        if late:
            patched.setattr(runs, "first_losses", interrupted)
        run.step()
    assert all(torch.equal(part, then[part_name]) for part_name, part in copied(run.state).items())
    goes_on(run, begun(), want, tmp_path / "run.pt")


def interrupted(*given: Any, **more: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.table(2)
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_that_has_begun_to_write_is_not_gone_on_with(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = served(name)
    run.step()
    for kernel in ("fused", "compiled"):
        monkeypatch.setattr(servers, kernel, interrupted)
    monkeypatch.setattr(servers, "chunks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.step()
    half = "round 1 failed and left the state half written: the server had begun to write over its vectors; resume"
    with pytest.raises(PlanError, match=f"{half} a saved run"):
        run.step()
    with pytest.raises(CheckpointError, match=f"{half} an earlier file"):
        run.save(tmp_path / "run.pt")


@pytest.mark.parametrize("shards", [None, 2])
def test_what_is_too_large_is_not_kept_twice(shards: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(find("scaffold"), shards=shards)
    row_bytes = 8 * len(run.federation.x0)
    monkeypatch.setattr(undo, "MOST", 2 * row_bytes)
    run.step()
    monkeypatch.setattr(runs, "first_losses", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.step()
    with pytest.raises(PlanError, match=r"half written: its clients had written over more than 0 MB of what they reme"):
        run.step()


def test_an_interrupt_while_a_round_is_undone_leaves_it_half_written(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(find("scaffold"))
    run.step()
    monkeypatch.setattr(runs, "first_losses", interrupted)
    monkeypatch.setattr(undo.UndoLog, "undo", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.step()
    with pytest.raises(PlanError, match="half written: another interrupt came while it was undone"):
        run.step()
