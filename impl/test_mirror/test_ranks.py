"""Four ranks compute what one process does, bit for bit; a rank that is gone is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from test_judge.support import inside
from test_mirror import ranked
from test_mirror.federations import TRAINABLE

from fedspec_torch import resume
from fedspec_torch.ranks.processes import Ranks

pytestmark = [pytest.mark.slow, pytest.mark.long]

RANKS = 4
by_id = pytest.mark.parametrize("row", TRAINABLE, ids=lambda row: row.id)


HELD = {"scaffold": 1, "fed-lamb": 2, "dsgd": 1, "feddyn": 1, "fednova-vr": 1, "cafga": 1}
"""Stacks of clients' rows that a run holds."""


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest, shared_folder: Path) -> dict[str, Any]:
    """Results of one process and of four ranks, from another test process if that has them."""
    folder = shared_folder / "ranks"
    items: list[Any] = [item for item in request.session.items if item.path == request.path]
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "found").exists():
            folder.mkdir()
            torch.save(trained(folder, items), folder / "found")
    return {"folder": folder, **torch.load(folder / "found", weights_only=True)}


def trained(folder: Path, items: list[Any]) -> dict[str, Any]:
    """Results of one process, and of four ranks that begin from its files."""
    named = {*HELD, *ranked.KEPT, *(i.callspec.params["row"].id for i in items if "row" in i.fixturenames)}
    rows = [row for row in TRAINABLE if row.id in named]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    alone = {}
    for row in rows:
        run, x = ranked.halves(row, folder / f"{row.id}.of-one")
        alone[row.id] = [done.loss for done in run.history], x
    recorded = ranked.recordings(folder)
    beside = ranked.beside()
    torch.set_num_threads(threads)
    names = [row.id for row in rows]
    commands = [["test_mirror.ranked", str(folder), str(r), str(RANKS), *names] for r in range(RANKS)]
    assert ranked.codes_of(commands) == [0, 0, 0, -9]
    out = [torch.load(folder / f"rank-{r}", weights_only=True) for r in range(RANKS - 1)]
    return {"alone": alone, "recorded": recorded, "beside": beside, "ranks": out}


@pytest.mark.table(1)
@by_id
def test_four_ranks_compute_what_one_process_does_bit_for_bit(row: Any, found: dict[str, Any]) -> None:
    losses, x = found["alone"][row.id]
    for out in found["ranks"]:
        assert torch.equal(out["ends"][row.id], x)
        assert out["losses"][row.id] == losses


@pytest.mark.parametrize("name", ["own-clients", "own-late", "scaffold", "joint-local"])
def test_ranks_whose_clients_are_recorded_compute_what_one_process_does(name: str, found: dict[str, Any]) -> None:
    x, losses, alone = found["recorded"][name]
    for out in found["ranks"]:
        theirs, said, were = out["recorded"][name]
        assert alone and were and torch.equal(theirs, x) and said == losses


def test_draws_and_running_statistics_do_not_depend_on_the_number_of_ranks(found: dict[str, Any]) -> None:
    assert not torch.equal(found["beside"]["averaged"][1], found["beside"]["kept"][1])
    for out in found["ranks"]:
        for reading, (x, b) in found["beside"].items():
            theirs, statistics = out["beside"][reading]
            assert torch.equal(theirs, x) and torch.equal(statistics, b)


@pytest.mark.parametrize("name", ranked.KEPT)
def test_a_run_goes_on_with_other_ranks_bit_for_bit(name: str, found: dict[str, Any]) -> None:
    _, x = found["alone"][name]
    assert torch.equal(found["ranks"][0]["resumed"][name], x)
    again = resume(found["folder"] / f"{name}.of-four", ranked.federation())
    list(again)
    assert torch.equal(again.x, x)


def test_sums_do_not_depend_on_the_number_of_ranks(found: dict[str, Any]) -> None:
    for alone, *theirs in zip(ranked.sums(Ranks()), *(out["sums"] for out in found["ranks"]), strict=True):
        assert all(torch.equal(alone, total) for total in theirs)


def test_sums_along_the_tree_are_sums() -> None:
    for (count, d), total in zip(ranked.SUMS, ranked.sums(Ranks()), strict=True):
        assert torch.allclose(total, torch.stack(ranked.values(count, d)).sum(0), rtol=1e-12)


def test_a_rank_holds_the_rows_of_its_own_clients(found: dict[str, Any]) -> None:
    for name, stacks in HELD.items():
        assert [out["held"][name] for out in found["ranks"]] == [[1] * stacks, [2] * stacks, [1] * stacks]


def test_a_rank_sends_its_neighbours_the_rows_they_listen_to(found: dict[str, Any]) -> None:
    """In a ring whose clients are on four ranks each has two neighbours elsewhere; d = 6, two exchanges."""
    assert [out["sent"] for out in found["ranks"]] == [[2 * 6, 2 * 6]] * 3


def test_rank_0_alone_prints_and_writes(found: dict[str, Any]) -> None:
    (code, shown, _), *others = (out["command"] for out in found["ranks"])
    assert code == 0 and "fedavg" in shown and "written" in shown
    assert others == [(0, "", "")] * 2
    ran = inside(*ranked.COMMAND, "--out", str(found["folder"] / "of-one"))
    assert ran.code == 0
    written, alone = (json.loads((found["folder"] / f"{name}.json").read_text()) for name in ("of-four", "of-one"))
    assert (written["task"]["ranks"], written["task"]["shards"]) == (4, 4)
    losses = [[r["loss"] for r in file["runs"][0]["rounds"]] for file in (written, alone)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4) and len(losses[0]) == 2


def test_every_rank_is_told_of_a_round_and_rank_0_measures_and_logs(found: dict[str, Any]) -> None:
    alone = ranked.watched(found["folder"])
    for r, out in enumerate(found["ranks"]):
        assert out["watched"]["heard"] == [(r, value) for _, value in alone["heard"]]
        assert (out["watched"]["rounds"], out["watched"]["whole"]) == (1, True)
        # The last rank alone asks to stop.
        assert out["watched"]["stopped"] == alone["stopped"] == (1, 1)
    told = [out["watched"]["refused"] for out in found["ranks"]]
    assert told[0] == alone["refused"] and told[0].startswith("ParameterError: metrics: each gives tensor")
    assert all(one.startswith("RankError: rank 0: metrics: each gives tensor") for one in told[1:])
    logs = [(found["folder"] / f"log-of-{size}.csv").read_text() for size in (1, RANKS)]
    assert logs[0] == logs[1] and len(logs[0].splitlines()) == 3


def test_ranks_do_not_tune_and_rank_0_says_so(found: dict[str, Any]) -> None:
    (code, err), *others = (out["tuned"] for out in found["ranks"])
    assert code == 2 and "--tune: it runs on one process only; tune without torchrun" in err
    assert others == [(2, "")] * 2


def test_ranks_that_do_not_begin_alike_are_refused(found: dict[str, Any]) -> None:
    for out in found["ranks"]:
        assert "initial model: " in out["unlike"] and "on rank 3; make model, data and run the same" in out["unlike"]
        assert out["few"] == "PlanError: shards: got 3 for 4 ranks; every rank needs at least one, so ask for 4 or more"


def test_an_error_of_one_rank_is_told_to_the_others(found: dict[str, Any]) -> None:
    first, second, third = (out["torn"] for out in found["ranks"])
    assert third.startswith("ShapeError: data: client 3 has inputs (2, 6) and targets (3,)")
    assert all(
        said.startswith(f"RankError: rank {r}: rank 2 has stopped: {third}") for r, said in enumerate((first, second))
    )


def test_a_rank_that_is_killed_is_named_by_the_others(found: dict[str, Any]) -> None:
    for r, out in enumerate(found["ranks"]):
        assert out["killed"].startswith(f"RankError: rank {r}: rank 3 (process ")
        assert "is gone; start all ranks again" in out["killed"]
