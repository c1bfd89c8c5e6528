"""A round that breaks off is undone: the run is that after its last whole round, and may be saved and gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from test_mirror.federations import hyper, quadratic
from test_mirror.support import tensors
from test_mirror.test_kept import REMEMBERING, ended, run_of

from fedspec.catalogue import Algorithm, find
from fedspec.errors import PlanError
from fedspec_torch import CheckpointError, cohorts, resume, simulate
from fedspec_torch.federation.training import Training
from fedspec_torch.forms import servers
from fedspec_torch.ranks import before
from fedspec_torch.ranks.rows import Rows
from fedspec_torch.run import runs

pytestmark = pytest.mark.table(2)

SERVERS = ["fedadagrad", "fedadam", "fedyogi", "fedamsgrad", "fedams"]


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


@pytest.mark.parametrize("shards", [None, 2])
@pytest.mark.parametrize("row", REMEMBERING, ids=lambda row: row.id)
def test_rows_are_what_they_were(row: Algorithm, shards: int | None, tmp_path: Path, ctrl_c: CtrlC) -> None:
    want = ended(run_of(row, block=1, shards=shards))
    ctrl_c.last_of(run_of(row, block=1, shards=shards))
    run = run_of(row, block=1, shards=shards)
    ctrl_c.at, at = -1, ctrl_c.at
    run.step()
    then = copied(run.state)
    ctrl_c.asked, ctrl_c.at = 0, at
    with pytest.raises(KeyboardInterrupt):
        run.step()
    assert all(torch.equal(part, then[name]) for name, part in copied(run.state).items())
    goes_on(run, run_of(row), want, tmp_path / "run.pt")


@pytest.mark.parametrize("row", REMEMBERING, ids=lambda row: row.id)
def test_after_all_rows_are_written(row: Algorithm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want, run = ended(run_of(row)), run_of(row)
    run.step()
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(runs, "first_losses", interrupted)
        run.step()
    goes_on(run, run_of(row), want, tmp_path / "run.pt")


def interrupted(*given: Any, **more: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_in_place_has_written_nothing_while_clients_train(name: str, tmp_path: Path, ctrl_c: CtrlC) -> None:
    want, run = ended(served(name)), served(name)
    ctrl_c.last_of(served(name))
    at, ctrl_c.at = ctrl_c.at, -1
    run.step()
    ctrl_c.asked, ctrl_c.at = 0, at
    with pytest.raises(KeyboardInterrupt):
        run.step()
    goes_on(run, served(name), want, tmp_path / "run.pt")


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
    half = "round 1 was broken off, its state is half written: the server had begun to write over its vectors; resume"
    with pytest.raises(PlanError, match=f"{half} a saved run"):
        run.step()
    with pytest.raises(CheckpointError, match=f"{half} an earlier file"):
        run.save(tmp_path / "run.pt")


@pytest.mark.parametrize("shards", [None, 2])
def test_what_is_too_large_is_not_kept_twice(shards: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(find("scaffold"), shards=shards)
    row_bytes = 8 * len(run.federation.x0)
    monkeypatch.setattr(before, "MOST", 2 * row_bytes)
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
    monkeypatch.setattr(before.Before, "undo", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.step()
    with pytest.raises(PlanError, match="half written: another interrupt came while it was undone"):
        run.step()
