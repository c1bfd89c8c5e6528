"""Metrics, callbacks and logs of a run: what they say, and that an error of theirs loses nothing."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.federations import quadratic
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from fedspec.errors import FedspecError, ParameterError, PlanError, ShapeError
from fedspec_torch import Federation, Round, Stop, arrivals, cohorts, exchanges, resume, simulate


def classes(seed: int = 0) -> tuple[Federation, tuple[Tensor, Tensor]]:
    """Ten clients of 12 examples in two classes, and 40 more."""
    rng = np.random.default_rng(seed)
    inputs = torch.tensor(rng.standard_normal((160, 3)))
    targets = (inputs[:, 0] > 0).long()
    model = nn.Linear(3, 2).double()
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    data = [(inputs[i * 12 : i * 12 + 12], targets[i * 12 : i * 12 + 12]) for i in range(10)]
    federation = Federation(model, nn.functional.cross_entropy, data, batch_size=4, way="looped")
    return federation, (inputs[120:], targets[120:])


def f1(output: Tensor, targets: Tensor) -> float:
    """2 TP / (2 TP + FP + FN), counted one by one."""
    said = [int(row[1] > row[0]) for row in output]
    counts = Counter(zip(said, targets.tolist(), strict=True))
    return 2 * counts[1, 1] / (2 * counts[1, 1] + counts[1, 0] + counts[0, 1])


def begun(more: dict[str, Any], rounds: int = 6) -> Any:
    federation, test = classes()
    return simulate("fedavg", federation, plan=cohorts(4), rounds=rounds, **{"test": test, "eta_l": 0.5, **more})


def test_metrics_are_of_the_models_that_the_rounds_left() -> None:
    run = begun({"metrics": {"f1": f1, "first": lambda output, _: output[0, 0]}, "test_every": 2})
    inputs, targets = run.test
    for done in run:
        if done.round % 2 == 0:
            assert done.metrics == {} and done.accuracy is None
            continue
        weight, bias = run.x[:6].reshape(2, 3), run.x[6:]
        output = inputs @ weight.T + bias
        assert done.metrics == {"f1": f1(output, targets), "first": pytest.approx(float(output[0, 0]), rel=1e-12)}
    assert done.metrics["f1"] > 0.8


@pytest.mark.parametrize("algorithm", ["fedadam", "scaffold"])
def test_an_error_of_a_metric_or_of_who_is_told_leaves_the_run_as_it_is_then(algorithm: str, tmp_path: Path) -> None:
    federation, test = classes()
    asked: dict[str, Any] = {"plan": cohorts(4), "rounds": 6, "eta_l": 0.5, "eta": 0.1, "test": test}
    whole = [r.loss for r in simulate(algorithm, federation, **asked)]
    for place in ("metrics", "on_round"):
        calls: list[int] = []

        def failing(*given: Any, calls: list[int] = calls) -> float:
            calls.append(1)
            if len(calls) == 4:
                raise OSError("no room")
            return 1.0

        run = simulate(algorithm, federation, **asked, **{place: {"m": failing} if place == "metrics" else failing})
        with pytest.raises(OSError, match="no room"):
            list(run)
        assert len(run.history) == 4 and run.whole
        assert [len(r.metrics) for r in run.history] == [int(place == "metrics")] * 3 + [0]
        run.save(tmp_path / "run.pt")
        again = resume(tmp_path / "run.pt", federation, test=test)
        list(again)
        assert [r.loss for r in again.history] == whole
        # It goes on where it stands, too.
        assert [r.loss for r in run] == whole[4:]


def test_a_stop_ends_the_run_after_its_round_and_it_can_go_on(tmp_path: Path) -> None:
    want = [r.loss for r in begun({})]
    heard: list[int] = []

    def stop(run: Any, done: Round) -> None:
        if done.round in (1, 3):
            raise Stop

    run = begun({"on_round": [stop, lambda run, done: heard.append(done.round)], "log": tmp_path / "run.csv"})
    assert [r.loss for r in run] == want[:2] and run.whole and heard == [0, 1] and len(run) == 4
    run.save(tmp_path / "run.pt")
    federation, test = classes()
    again = resume(tmp_path / "run.pt", federation, test=test)
    list(again)
    assert [r.loss for r in again.history] == want
    assert [r.loss for r in run] == want[2:4]
    run.step()
    assert [r["round"] for r in rows(tmp_path / "run.csv")] == heard == [0, 1, 2, 3, 4]
    alone = begun({"on_round": stop})
    alone.step()
    with pytest.raises(Stop):
        alone.step()
    assert len(alone.history) == 2


def test_a_stop_iteration_of_who_is_told_is_an_error_that_says_what_stops() -> None:
    few = iter([1])
    run = begun({"on_round": lambda run, done: next(few)})
    with pytest.raises(PlanError, match=r"a callback raised StopIteration after round 1; raise fedspec_torch\.Stop"):
        list(run)
    assert len(run.history) == 2 and run.whole


def rows(file: Path) -> list[dict[str, Any]]:
    text = file.read_text()
    if file.suffix == ".jsonl":
        return [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]
    return [
        {n: None if v == "" else float(v) if n != "round" else int(v) for n, v in row.items()}
        for row in csv.DictReader(text.splitlines())
    ]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_log_has_each_round_once_as_soon_as_it_is_done_and_when_it_is_resumed(suffix: str, tmp_path: Path) -> None:
    log, file = tmp_path / f"run.{suffix}", tmp_path / "run.pt"
    log.write_text("of an earlier run\n")
    there: list[int] = []
    more: dict[str, Any] = {"metrics": {"f1": f1}, "log": log, "test_every": 2}
    run = begun({**more, "on_round": lambda run, done: there.append(len(rows(log)))})
    for done in run:
        if done.round == 2:
            run.save(file)
        if done.round == 4:
            break
    assert there == [1, 2, 3, 4, 5]
    # As a process leaves it that is killed while it writes.
    log.write_text(log.read_text()[:-9])
    federation, test = classes()
    again = resume(file, federation, test=test, metrics={"f1": f1}, log=log)
    list(again)
    found = rows(log)
    assert [r["round"] for r in found] == [0, 1, 2, 3, 4, 5]
    for row, done in zip(found, again.history, strict=True):
        assert row == {
            **{n: getattr(done, n) for n in ("round", "loss", "floats_sent", "test_loss", "accuracy")},
            "f1": done.metrics.get("f1"),
        }
    assert found[0]["f1"] is None and found[1]["f1"] > 0
    assert {p.name for p in tmp_path.iterdir()} == {"run.pt", log.name}


def test_what_is_no_number_is_written_so_that_json_readers_take_it(tmp_path: Path) -> None:
    odd = {"a": lambda *_: math.nan, "b": lambda *_: math.inf, "c": lambda *_: -0.5}
    list(begun({"metrics": odd, "log": tmp_path / "run.jsonl"}, rounds=2))
    assert [(r["a"], r["b"], r["c"]) for r in rows(tmp_path / "run.jsonl")] == [(None, None, -0.5)] * 2
    list(begun({"metrics": odd, "log": tmp_path / "run.csv"}, rounds=1))
    (row,) = rows(tmp_path / "run.csv")
    assert math.isnan(row["a"]) and row["b"] == math.inf


def test_a_log_that_cannot_be_written_ends_the_run_after_its_round(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    run = begun({"log": tmp_path / "logs/run.csv"})
    run.step()
    (tmp_path / "logs/run.csv").unlink()
    (tmp_path / "logs").rmdir()
    with pytest.raises(OSError, match=r"run\.csv") as refused:
        run.step()
    assert "round 1 could not be written" in refused.value.__notes__[0]
    assert len(run.history) == 2 and run.whole


def test_a_dataset_is_tested_on_as_its_tensors_are() -> None:
    federation, test = classes()
    asked: dict[str, Any] = {"plan": cohorts(4), "rounds": 3, "eta_l": 0.5}
    want = [(r.test_loss, r.accuracy) for r in simulate("fedavg", federation, **asked, test=test)]
    listed = [(x, int(y)) for x, y in zip(*test, strict=True)]
    keyed = [{"x": x, "y": y} for x, y in listed]
    rows: Any = [[{"x": x, "y": y} for x, y in zip(*pair, strict=True)] for pair in federation.data]  # type: ignore[union-attr]
    by_name = replace(federation, data=rows, keys=("x", "y"))
    for fed, given in ((federation, TensorDataset(*test)), (federation, listed), (by_name, keyed)):
        assert [(r.test_loss, r.accuracy) for r in simulate("fedavg", fed, **asked, test=given)] == want
    listed[5] = (torch.ones(2), 1)
    for wrong, words in ((listed, "the test set, example 5 has inputs"), ([], "the test set has no example")):
        with pytest.raises(ShapeError, match=f"test: {words}"):
            simulate("fedavg", federation, **asked, test=wrong)


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"metrics": {"loss": f1}}, PlanError, "metrics: 'loss' is a field of every round"),
        ({"metrics": {"f1": 1}}, PlanError, "metrics: 'f1': got 1; give a function"),
        ({"metrics": [f1]}, PlanError, "metrics: got list; give functions by name"),
        ({"metrics": {"f1": f1}, "test": None}, PlanError, "metrics: given without a test set"),
        ({"on_round": 3}, PlanError, "on_round: got 3"),
        ({"on_round": [print, 3]}, PlanError, "on_round: got 3"),
        ({"log": "run.txt"}, PlanError, "log: got 'run.txt'; give a name that ends in .csv or .jsonl"),
        ({"log": "no/run.csv"}, PlanError, "log: the folder no doesn't exist"),
    ],
)
def test_what_nothing_can_be_told_to_is_refused_by_name(
    more: dict[str, Any], error: type[FedspecError], words: str
) -> None:
    with pytest.raises(error, match=words):
        begun(more)


def test_a_metric_of_several_numbers_is_refused_after_its_round() -> None:
    run = begun({"metrics": {"each": lambda output, _: output}})
    with pytest.raises(ParameterError, match="metrics: each gives tensor"):
        run.step()
    assert isinstance(run.history[0], Round) and run.whole


def test_the_steps_of_clients_are_counted() -> None:
    federation, *_ = quadratic(way="looped")
    counted = []
    for algorithm, plan, more in (
        ("fedavg", cohorts(4, steps=3), {}),
        ("dsgd", exchanges(steps=2), {}),
        ("fedbuff", arrivals(steps=5, largest_delay=1), {"buffer": 3}),
    ):
        run = simulate(algorithm, federation, plan=plan, rounds=2, **{"eta_l": 0.01, **more})
        counted.append([run.client_steps, *(run.client_steps for _ in run)])
    assert counted == [[0, 12, 24], [0, 12, 24], [0, 15, 30]]
    assert all(a < b for each in counted for a, b in pairwise(each))
