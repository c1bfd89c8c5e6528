"""``fedspec simulate``: a table, a picture and a record of a run on real data, and refusals by name."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_judge.support import fedspec, inside
from test_judge.test_robust_terminal import MAIN

from fedspec.errors import ParameterError
from fedspec_suite.cli_simulate import cohort_of

SMALL = ("--data", "breast-cancer", "--model", "logistic", "--clients", "6", "--cohort", "3", "--rounds", "3")


@pytest.mark.slow
def test_a_comparison_prints_draws_and_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = tmp_path / "deep" / "pair"
    set_ = ("--set", "fedavg:eta_l=0.25", "--set", "eta_l=0.5")
    ran = inside("simulate", "fedada2", *SMALL, *set_, "--compare", "fedavg,dsgd", "--seeds", "2", "--out", str(out))
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["fedada2", "fedavg", "dsgd"]
    assert "eta_l=0.25" in lines[3] and "eta_l=0.5" in lines[4] and " to " in lines[2]
    assert f"{out}.png and {out}.json written; settings are usual ones, not tuned" in ran.out
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    kept = json.loads(out.with_suffix(".json").read_text())
    assert kept["task"]["data"] == "breast-cancer"
    assert [(r["algorithm"], r["seed"]) for r in kept["runs"]] == [
        (name, seed) for name in ("fedada2", "fedavg", "dsgd") for seed in (0, 1)
    ]
    for run in kept["runs"]:
        assert [r["round"] for r in run["rounds"]] == [0, 1, 2]
        assert all(0 <= r["accuracy"] <= 1 and r["loss"] > 0 for r in run["rounds"])
        assert run["parameters"] == 62
    # d floats to and from three clients in three rounds; among peers everybody sends to two neighbours in five steps.
    assert [kept["runs"][j]["rounds"][-1]["floats_sent"] for j in (2, 4)] == [3 * 3 * 124, 3 * 5 * 6 * 2 * 62]


@pytest.mark.slow
def test_the_same_command_gives_the_same_numbers(tmp_path: Path) -> None:
    said = []
    for name in ("a", "b"):
        ran = fedspec("simulate", "fednova", *SMALL, "--steps", "1-4", "--out", str(tmp_path / name))
        assert ran.code == 0, ran.err
        said.append([r["rounds"] for r in json.loads((tmp_path / f"{name}.json").read_text())["runs"]])
    for one, other in zip(*said, strict=True):
        assert [r["loss"] for r in one] == pytest.approx([r["loss"] for r in other], rel=1e-5)


@pytest.mark.slow
def test_a_decay_makes_the_rate_fall_after_every_round(tmp_path: Path) -> None:
    runs = []
    for decay in ("1", "0.5"):
        out = tmp_path / decay
        assert inside("simulate", "fedavg", *SMALL, "--decay", decay, "--out", str(out)).code == 0
        (run,) = json.loads((tmp_path / f"{decay}.json").read_text())["runs"]
        runs.append(run)
    one, other = ([r["loss"] for r in run["rounds"]] for run in runs)
    # The rate of the first round decides about the loss of the second.
    assert one[:2] == pytest.approx(other[:2], rel=1e-5) and one[2] != pytest.approx(other[2], rel=1e-5)
    assert runs[1]["hyper"] == {**runs[0]["hyper"], "decay": 0.5}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("fedavgg",), ("fedavgg", "fedavg")),
        (("sgd",), ("sgd: a local solver",)),
        (("fedavg", "--set", "eta_k=1"), ("--set eta_k: none of fedavg has it", "eta_l")),
        (("fedavg", "--set", "dsgd:eta_l=1"), ("--set dsgd:eta_l: none of fedavg has it",)),
        (("fedavg", "--set", "eta_l"), ("--set eta_l: expected NAME=VALUE",)),
        (("fedavg", "--set", "eta_l=-1"), ("eta_l: got -1",)),
        (("fedavg", "--decay", "0"), ("rates: round 1: hyper: eta_l: got 0",)),
        (("fedavg", "--set", "weights=most"), ("weights", "most", "uniform")),
        (("fedavg", "--steps", "0"), ("--steps 0: expected a whole number >= 1",)),
        (("fedavg", "--steps", "4-2"), ("--steps 4-2",)),
        (("fedavg", "--data", "mnist"), ("data: got 'mnist'",)),
        (("fedavg", "--alpha", "0"), ("alpha: got 0",)),
        (("dsgd", "--graph", "torus"), ("graph: got 'torus'; known: ring, complete, star",)),
        (("fedavg", "--device", "tpu9"), ("no device 'tpu9'",)),
        (("fedadam", "--reading", "mine"), ("mine", "reddi-2021")),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(words: tuple[str, ...], told: tuple[str, ...], tmp_path: Path) -> None:
    given, common = [*words, "--out", str(tmp_path / "x")], [*SMALL]
    for option in given:
        if option in common:
            at = common.index(option)
            del common[at : at + 2]
    ran = inside("simulate", *given, *common)
    ran.refused(*told)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_run_that_diverges_says_so(tmp_path: Path) -> None:
    ran = inside("simulate", "fedavg", "--rounds", "20", "--set", "eta_l=1e20", "--out", str(tmp_path / "x"))
    ran.refused("diverged", "smaller eta_l")


def test_a_cohort_is_ten_or_all_of_fewer_and_no_more_than_there_are() -> None:
    assert (cohort_of(None, 100), cohort_of(None, 6), cohort_of(6, 6)) == (10, 6, 6)
    with pytest.raises(ParameterError, match="--cohort 7: of 6 clients; ask for 1 to 6"):
        cohort_of(7, 6)


def commanded(*arguments: str, cwd: Path, **more: Any) -> subprocess.Popen[str]:
    """The command in a process that can be sent signals."""
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "simulate", *arguments],
        cwd=cwd,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "200"},
        **more,
    )


def test_a_place_that_cannot_be_written_is_told_before_training(tmp_path: Path) -> None:
    """As in ``fedspec simulate fedada2 > out``, where OUT is out/simulate."""
    (tmp_path / "out").touch()
    (tmp_path / "run.json").mkdir()
    patience = ("--rounds", "1000000000")
    for words, told in (
        (("--out", str(tmp_path / "out/simulate")), "cannot make the folder"),
        (("--out", str(tmp_path / "run")), "run.json: a folder; give the name of a file"),
        (("--out", str(tmp_path / "a"), "--save", str(tmp_path / "no/run.pt")), "is no folder; make it first"),
        (("--out", str(tmp_path / "a"), "--save", str(tmp_path)), "a folder; give the name of a file"),
        (("--out", str(tmp_path / "a"), "--resume", str(tmp_path / "none.pt")), "none.pt: no such file"),
    ):
        inside("simulate", "fedavg", *SMALL[:-2], *patience, *words).refused(told)


@pytest.mark.slow
def test_an_interrupt_ends_with_the_table_and_a_saved_run(tmp_path: Path) -> None:
    file = tmp_path / "run.pt"
    small = (*SMALL[:-2], "--out", "table", "--save", "run.pt", "--save-every", "0")
    run = commanded("fedada2", *small, "--rounds", "1000000", cwd=tmp_path, stdout=subprocess.PIPE)
    while not file.exists() and run.poll() is None:
        time.sleep(0.01)
    run.send_signal(signal.SIGTERM)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 143
    assert (
        "of 1000000" in said and "0 of 1 runs were played to their end; the same command with --resume run.pt" in said
    )
    done = len(json.loads((tmp_path / "table.json").read_text())["runs"][0]["rounds"])
    # It goes on where it stopped, and comes to the model of a run that was never stopped.
    ends = []
    for more in (("--resume", "run.pt"), ()):
        ran = fedspec(
            "simulate", "fedada2", *small[:-4], "--rounds", str(done + 3), *more, "--out", "end", cwd=tmp_path
        )
        assert ran.code == 0, ran.err
        (ended,) = json.loads((tmp_path / "end.json").read_text())["runs"]
        assert ended["resumed"] == (done if more else 0)
        ends.append([r["loss"] for r in ended["rounds"]])
    assert ends[0] == pytest.approx(ends[1], rel=1e-4)


def test_runs_of_a_comparison_are_saved_apart_and_gone_on_with(tmp_path: Path) -> None:
    def ran(rounds: int, *more: str) -> list[dict[str, Any]]:
        two = ("simulate", "fedavg", "--compare", "fedadam", *SMALL[:-2], "--rounds", str(rounds))
        done = inside(*two, "--out", str(tmp_path / "two"), *more)
        assert done.code == 0, done.err
        found: list[dict[str, Any]] = json.loads((tmp_path / "two.json").read_text())["runs"]
        return found

    file = str(tmp_path / "run.pt")
    ran(2, "--save", file)
    assert {f.name for f in tmp_path.glob("*.pt")} == {"run-fedavg-0.pt", "run-fedadam-0.pt"}
    (tmp_path / "run-fedadam-0.pt").unlink()
    assert [r["resumed"] for r in ran(3, "--resume", file)] == [2, 0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("fedavg", "--set", "eta_l=0.5"), "settings: saved FedAvg(eta_l=0.1"),
        (("fedavg", "--cohort", "2"), "schedule: saved"),
        (("fedadam",), "algorithm: saved fedavg, asked for fedadam"),
        (("fedavg", "--batch", "4"), "batch_size was 16, here it is 4"),
    ],
)
def test_a_saved_run_is_gone_on_with_by_the_same_command_alone(
    words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    common = [*SMALL, "--out", str(tmp_path / "x")]
    assert inside("simulate", "fedavg", *common, "--save", str(tmp_path / "run.pt")).code == 0
    given = [*common[: common.index("--cohort")], *common[common.index("--cohort") + 2 * ("--cohort" in words) :]]
    inside("simulate", *words, *given, "--resume", str(tmp_path / "run.pt")).refused(told)
