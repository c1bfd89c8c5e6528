"""Drivers of other people's outer steps: workers that meet, sessions that show them, and code read at a commit."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_judge.support import ROOT, module_at

from fedspec.contract import Case, ClientMessage, Messages
from fedspec.errors import ContractError
from fedspec_suite.subjects import workers
from fedspec_suite.subjects.outer import Make, Model, Outer, Rounds, offer, sgd


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adapters change ``torch.distributed`` and the number of threads of their own process: not of this one."""
    monkeypatch.setattr(workers, "stand_in", lambda: None)
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)


def test_workers_meet() -> None:
    """Three workers hold 1, 2 and 4."""
    three = workers.Workers(3)
    total, mean, first, at_one = (torch.tensor([[1.0], [2.0], [4.0]]) for _ in range(4))

    def work(rank: int) -> tuple[int, int, list[int]]:
        workers.all_reduce(total[rank])
        workers.all_reduce(mean[rank], torch.distributed.ReduceOp.AVG).wait()
        workers.broadcast(first[rank], src=2)
        workers.reduce(at_one[rank], dst=1)
        return workers.rank(), workers.count(), workers.gather(10 * rank)

    assert three.run(work) == [(rank, 3, [0, 10, 20]) for rank in range(3)]
    assert total.tolist() == [[7.0]] * 3 and torch.equal(mean, (total / 3))
    assert first.tolist() == [[4.0]] * 3 and at_one.tolist() == [[1.0], [7.0], [4.0]]


def test_workers_send_to_one_another() -> None:
    held = torch.tensor([[1.0], [2.0]])

    def work(rank: int) -> int:
        workers.send(held[rank], dst=1 - rank)
        received = torch.zeros(1)
        source = workers.recv(received, src=1 - rank)
        held[rank] = received
        return source

    assert workers.Workers(2).run(work) == [1, 0] and held.tolist() == [[2.0], [1.0]]


def test_an_error_of_one_worker_is_told_and_ends_the_others() -> None:
    def work(rank: int) -> None:
        if rank == 1:
            raise ValueError("worker 1")
        workers.gather(rank)

    with pytest.raises(ValueError, match="worker 1"):
        workers.Workers(3).run(work)
    with pytest.raises(NotImplementedError, match="MAX"):
        workers.Workers(1).run(lambda _: workers.all_reduce(torch.ones(1), torch.distributed.ReduceOp.MAX))


def loop(sign: float = 1.0, alone: bool = False) -> Make:
    """DiLoCo's outer step as everybody writes it; with another sign, or without communication."""

    def made(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        outside, old = sgd(model, h), [p.detach().clone() for p in model.parameters()]

        def ends() -> None:
            local.step()
            for p, before in zip(model.parameters(), old, strict=True):
                p.grad = sign * (before - p.detach())
                if not alone:
                    workers.all_reduce(p.grad, torch.distributed.ReduceOp.AVG)
                p.data = before.clone()
            outside.step()
            for p, before in zip(model.parameters(), old, strict=True):
                before.copy_(p.detach())

        return ends

    return made


def played(make: Make, changes: list[list[float]]) -> list[float]:
    """The model after each round, from 0 with eta = 0.7 and beta = 0.9."""
    subject = Outer("mine", "0", [(offer(), make)])
    hyper = {"eta": 0.7, "beta": 0.9}
    x0 = {"w": np.zeros(1)}
    session = subject.start(Case("diloco", "server", "diloco", {}, "float64", x0, hyper, population=2))
    out = []
    for of_round in changes:
        sent = [ClientMessage(7 - i, {"w": np.array([change])}, 1, 1, 1) for i, change in enumerate(of_round)]
        (x,) = np.asarray(session.step(Messages(tuple(sent)))["x"]["w"])  # type: ignore[call-overload,index]
        out.append(float(x))
    return out


def test_a_session_plays_rounds() -> None:
    """Two clients whose mean change is -1 in three rounds: 1.9 * 0.7, and so on, by hand."""
    changes = [[-0.5, -1.5]] * 3
    assert played(loop(), changes) == pytest.approx([-1.33, -3.227, -5.6343])
    assert played(loop(sign=-1.0), changes) == pytest.approx([1.33, 3.227, 5.6343])


def test_each_round_shows_another_worker() -> None:
    """Workers that do not communicate hold two models: 0.7 * 1.9 times their own change, of which both are seen."""
    first, second = played(loop(alone=True), [[-0.5, -1.5], [0.0, 0.0]])
    assert first == pytest.approx(-0.5 * 1.33) and second == pytest.approx(-1.5 * (1.33 + 0.7 * 0.81))


def test_a_session_takes_rounds_at_the_server_alone() -> None:
    subject = Outer("mine", "0", [(offer(), loop())])
    with pytest.raises(ContractError, match="diloco at level round is not claimed"):
        subject.start(Case("diloco", "round", "diloco", {}, "float64", {"w": np.zeros(1)}, {}))


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the examples, and a clone with two commits: ``theirs/a.py`` says 1, then 2."""
    module = module_at(ROOT / "examples" / "diloco" / "source.py")

    def git(*arguments: str) -> str:
        who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
        ran = subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    git("init", "-q")
    folder = tmp_path / "src" / "theirs"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('this one needs a GPU')\n")
    (folder / "b.py").write_text(
        "from theirs.a import number\ndef twice():\n    if number > 0:\n        x = 2 * number\n"
    )
    module.commits = []
    for number in (1, 2):
        (folder / "a.py").write_text(f"number = {number}\n")
        git("add", "-A")
        git("commit", "-qm", str(number))
        module.commits.append(git("rev-parse", "--short=7", "HEAD"))
    monkeypatch.setenv("SOURCE", str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return module


def test_code_is_that_of_the_commit(source: Any) -> None:
    """Read the code of the commit, whichever commit is checked out."""
    assert [source.module(c, "src/theirs/a.py", f"a_{c}").number for c in source.commits] == [1, 2]
    assert source.dated(source.commits[0]).startswith(f"{source.commits[0]} of 2")
    names = {"number": 21}
    exec(source.below(source.commits[1], "src/theirs/b.py", "number > 0"), names)
    assert names["x"] == 42
    twice = source.definitions(source.commits[1], "src/theirs/b.py", "twice", given={"number": 0})["twice"]
    assert twice() is None


def test_a_package_is_imported_at_a_commit(source: Any) -> None:
    source.Package("theirs", source.commits[0], "src/theirs", empty=("theirs",))
    assert importlib.import_module("theirs.b").number == 1


def test_what_is_missing_is_said(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match=r"git log -1 .* 0000000"):
        source.dated("0000000")
    with pytest.raises(RuntimeError, match="has 0 statements `if number > 1`"):
        source.below(source.commits[0], "src/theirs/b.py", "number > 1")
    with pytest.raises(RuntimeError, match=r"doesn't define each of \('thrice',\) exactly once"):
        source.definitions(source.commits[0], "src/theirs/b.py", "thrice", given={})
    monkeypatch.delenv("SOURCE")
    with pytest.raises(RuntimeError, match="SOURCE: not set"):
        source.dated(source.commits[0])


def test_the_page_prints_the_loop_of_the_example() -> None:
    loop, mark, _ = (ROOT / "examples/outer_step.py").read_text(encoding="utf-8").partition("# The adapter:")
    assert mark and loop.rstrip() in (ROOT / "docs/outer-step.md").read_text(encoding="utf-8")
