"""``fedspec simulate``: a table, a picture and a record of a run on real data, and refusals by name."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from test_judge.support import fedspec, inside

from fedspec.errors import ParameterError
from fedspec_suite.report import terminal
from fedspec_torch.run.runs import Run
from fedspec_train.cli.settings import cohort_of, falling, shape_of
from fedspec_train.cli.training import plain

pytestmark = [pytest.mark.slow, pytest.mark.table(1), pytest.mark.usefixtures("calm")]

SMALL = ("--data", "breast-cancer", "--model", "logistic", "--clients", "6", "--cohort", "3", "--rounds", "3")


def test_a_comparison_prints_draws_and_records(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "pair"
    set_ = ("--set", "fedavg:eta_l=0.25", "--set", "eta_l=0.5")
    ran = inside("simulate", "fedada2", *SMALL, *set_, "--compare", "fedavg,dsgd", "--seeds", "2", "--out", str(out))
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["fedada2", "fedavg", "dsgd"]
    assert "eta_l=0.25" in lines[3] and "eta_l=0.5" in lines[4] and " to " in lines[2]
    assert f"{out}.png and {out}.json written; settings are as given or usual, not tuned" in ran.out
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
        # Measured, and apart from what is the same in every run.
        assert len(run["times"]) == 3 and min(run["times"]) > 0 and sum(run["times"]) == run["seconds"]
        assert not any("seconds" in r or "times" in r for r in run["rounds"])
    # d floats to and from three clients in three rounds; among peers everybody sends to two neighbours in five steps.
    assert [kept["runs"][j]["rounds"][-1]["floats_sent"] for j in (2, 4)] == [3 * 3 * 124, 3 * 5 * 6 * 2 * 62]


@pytest.mark.parametrize(
    ("out", "picture", "begins"),
    [
        ("a.svg", "a.svg", b"<?xml"),
        ("a.PDF", "a.PDF", b"%PDF-"),
        ("a.json", "a.png", b"\x89PNG"),
        ("eta-0.1", "eta-0.1.png", b"\x89PNG"),
    ],
)
def test_the_picture_is_of_the_kind_that_its_name_ends_in(
    out: str, picture: str, begins: bytes, tmp_path: Path
) -> None:
    more = ("--against", "seconds,rounds", "--panels", "accuracy", "--out", str(tmp_path / out))
    ran = inside("simulate", "fedavg", *SMALL[:6], "--rounds", "3", *more)
    assert ran.code == 0, ran.err
    record = picture.rpartition(".")[0] + ".json"
    assert {file.name for file in tmp_path.iterdir()} == {picture, record}
    assert (tmp_path / picture).read_bytes().startswith(begins)
    assert json.loads((tmp_path / record).read_text())["task"]["cohort"] == 6
    if picture == "a.svg":
        words = (tmp_path / picture).read_text()
        assert all(f"<!-- {axis} -->" in words for axis in ("seconds", "rounds", "test accuracy"))
        assert not any(f"<!-- {axis} -->" in words for axis in ("floats sent", "test loss"))


def test_a_picture_of_another_kind_is_refused(tmp_path: Path) -> None:
    ran = inside("simulate", "fedavg", *SMALL, "--out", str(tmp_path / "a.JPG"))
    ran.refused("a.JPG: a picture must end in one of .png, .svg, .pdf; give such a name")
    assert not [*tmp_path.iterdir()]


def test_data_without_classes_have_no_accuracy(tmp_path: Path) -> None:
    small = ("--data", "quadratics:dim=3", "--clients", "4", "--rounds", "2", "--steps", "1-3")
    ran = inside("simulate", "fednova", *small, "--out", str(tmp_path / "run"))
    assert ran.code == 0, ran.err
    kept = json.loads((tmp_path / "run.json").read_text())
    assert kept["task"]["model"] == "linear" and "alpha" not in kept["task"]
    assert all(r["accuracy"] is None and r["test_loss"] > 0 for r in kept["runs"][0]["rounds"])
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_to_be_known_of_the_data_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedspec_torch.tasks.text.DIGEST", "0" * 16)
    few = ("--data", "pydoc:every=50", "--clients", "2", "--rounds", "1", "--steps", "1")
    ran = inside("simulate", "fedavg", *few, "--out", str(tmp_path / "run"))
    assert ran.code == 0 and "is another one than that of 3.11.7, 0000000000000000" in ran.err


@pytest.mark.parametrize(
    ("words", "rates"),
    [
        (("--schedule", "cosine"), [0.5, 0.375, 0.125]),
        (("--schedule", "cosine:least=0.1"), [0.5, 0.4, 0.2]),
        (("--schedule", "steps:1,2"), [0.5, 0.05, 0.005]),
        (("--schedule", "steps:2,factor=0.5", "--warm-up", "2"), [0.25, 0.5, 0.25]),
        (("--warm-up", "4"), [0.125, 0.25, 0.375]),
        (("--decay", "0.5", "--warm-up", "2"), [0.25, 0.25, 0.125]),
    ],
)
def test_a_schedule_of_the_command_is_that_of_its_rounds(words: tuple[str, ...], rates: list[float]) -> None:
    """Cosines of 0, pi/3 and 2 pi/3 are 1, 1/2 and -1/2."""
    given = dict(zip(words[::2], words[1::2], strict=True))
    shape = shape_of(given.get("--schedule"), float(given.get("--decay", 1)), int(given.get("--warm-up", 0)), 3)
    numbers, found = falling({"eta_l": 0.5, "eta": 1.0}, shape)
    assert numbers == {"eta": 1.0} and [found["eta_l"](r) for r in range(3)] == pytest.approx(rates)


def test_a_schedule_is_in_the_record_and_is_what_a_run_is_resumed_with(tmp_path: Path) -> None:
    file, common = tmp_path / "run.pt", ("simulate", "fedavg", *SMALL, "--out", str(tmp_path / "x"))
    falls = ("--schedule", "cosine", "--warm-up", "2")
    assert inside(*common, *falls, "--save", str(file)).code == 0
    (run,) = json.loads((tmp_path / "x.json").read_text())["runs"]
    assert {"schedule": "cosine", "warm_up": 2}.items() <= run["hyper"].items() and "decay" not in run["hyper"]
    assert inside(*common, *falls, "--resume", str(file)).code == 0
    (again,) = json.loads((tmp_path / "x.json").read_text())["runs"]
    # Its seconds are those of the rounds that were played before.
    assert again["times"] == run["times"] and again["seconds"] == sum(run["times"]) > 0 and again["resumed"] == 3
    inside(*common, "--schedule", "cosine", "--resume", str(file)).refused("in round 0, but rates now gives")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("fedavgg",), ("fedavgg", "fedavg")),
        (("sgd",), ("sgd is a local solver",)),
        (("fedavg", "--set", "eta_k=1"), ("--set eta_k: none of fedavg has it", "eta_l")),
        (("fedavg", "--set", "dsgd:eta_l=1"), ("--set dsgd:eta_l: none of fedavg has it",)),
        (("fedavg", "--set", "eta_l"), ("--set eta_l: expected NAME=VALUE",)),
        (("fedavg", "--set", "eta_l=-1"), ("eta_l: got -1",)),
        (("fedavg", "--decay", "0"), ("rates: eta_l in round 1 is 0.0 by exponential(",)),
        (("fedavg", "--schedule", "linear"), ("--schedule linear: give cosine, cosine:least=0.001, steps:50,75 or",)),
        (("fedavg", "--schedule", "steps"), ("--schedule steps: give",)),
        (("fedavg", "--schedule", "cosine:3"), ("--schedule cosine:3: give",)),
        (("fedavg", "--schedule", "steps:2,least=1"), ("--schedule steps:2,least=1: give",)),
        (
            ("fedavg", "--schedule", "cosine", "--decay", "0.9"),
            ("--decay 0.9 is a schedule too; leave out one",),
        ),
        (("fedavg", "--schedule", "steps:2,factor=0"), ("rates: eta_l in round 2 is 0.0 by steps(",)),
        (("fedavg", "--set", "weights=most"), ("weights", "most", "uniform")),
        (("fedavg", "--steps", "0"), ("--steps 0: give a whole number >= 1",)),
        (("fedavg", "--steps", "4-2"), ("--steps 4-2",)),
        (("fedavg", "--data", "mnist"), ("data: got 'mnist'",)),
        (("fedavg", "--alpha", "0"), ("alpha: got 0",)),
        (("dsgd", "--graph", "torus"), ("graph: got 'torus'; known: ring, complete, star",)),
        (("fedavg", "--device", "tpu9"), ("device: got 'tpu9'",)),
        (("fedadam", "--reading", "mine"), ("mine", "reddi-2021")),
        (("fedavg", "--against", "rounds,bytes"), ("--against: got 'bytes'; known: rounds, floats, seconds",)),
        (("fedavg", "--panels", ","), ("--panels: no names given; known: loss, test_loss, accuracy",)),
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


def test_a_way_is_named_and_kept(tmp_path: Path) -> None:
    ran = inside("simulate", "fedavg", "--rounds", "1", "--way", "looped", "--out", str(tmp_path / "x"))
    assert ran.code == 0 and "gradients looped: as asked" in ran.out
    kept = json.loads(next(tmp_path.rglob("*.json")).read_text(encoding="utf-8"))
    assert (kept["task"]["way"], kept["runs"][0]["way"]) == ("looped", "looped")
    inside("simulate", "fedavg", "--rounds", "1", "--way", "loped").refused("way: got 'loped'", "looped")


def test_one_that_diverges_is_named_and_the_others_are_played(tmp_path: Path) -> None:
    asked = ("simulate", "fedavg", "--compare", "fedprox,fedadam", "--rounds", "4", "--seeds", "2")
    ran = inside(*asked, "--set", "fedavg:eta_l=1e20", "--out", str(tmp_path / "x"), "--save", str(tmp_path / "run.pt"))
    assert ran.code == 2
    for seed in (0, 1):
        assert f"fedavg, seed {seed}: round " in ran.err
    assert ran.err.count("the model has diverged") == 2 and "Traceback" not in ran.err
    assert "4 of 6 runs were played to their end, 2 diverged" in ran.out and "goes on" not in ran.out
    kept = json.loads(next(tmp_path.rglob("*.json")).read_text(encoding="utf-8"))
    assert [(r["algorithm"], r["seed"]) for r in kept["runs"]] == [
        (a, s) for a in ("fedprox", "fedadam") for s in (0, 1)
    ]


def test_a_log_of_each_run_has_every_round_once_and_the_record_is_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", -1.0)
    log, file = tmp_path / "log.jsonl", tmp_path / "run.pt"
    two = ("simulate", "fedavg", "--compare", "fedadam", *SMALL[:-2], "--save", str(file), "--log", str(log))
    ran = inside(*two, "--rounds", "2", "--out", str(tmp_path / "x"))
    assert ran.code == 0, ran.err
    # Where there is no terminal a line now and then: here after every round.
    lines = [line for line in ran.err.splitlines() if "client steps/s" in line]
    assert [line.partition(",")[0] for line in lines] == [
        f"{name} seed 0 round {r} of 2" for name in ("fedavg", "fedadam") for r in (1, 2)
    ]
    assert [line.partition("; ")[2].partition(",")[0] for line in lines] == [f"{n} of 4 rounds" for n in (1, 2, 3, 4)]
    assert lines[-1].endswith(" 0 s left")
    ran = inside(*two, "--rounds", "3", "--out", str(tmp_path / "x"), "--resume", str(file))
    assert ran.code == 0, ran.err
    assert [line.partition("; ")[2].partition(",")[0] for line in ran.err.splitlines()] == [
        "3 of 6 rounds",
        "6 of 6 rounds",
    ]
    runs = json.loads((tmp_path / "x.json").read_text(), parse_constant=pytest.fail)["runs"]
    for run in runs:
        written = (tmp_path / f"log-{run['algorithm']}-0.jsonl").read_text().splitlines()
        found = [json.loads(line) | {"metrics": {}} for line in written]
        assert found == run["rounds"] and len(found) == 3
    inside(*two[:-1], "log.txt", "--rounds", "2", "--out", str(tmp_path / "x")).refused("ends in .csv or .jsonl")


def test_a_record_has_null_where_json_has_no_number() -> None:
    odd = {"a": [1.5, float("nan")], "b": (float("inf"), {"c": -float("inf")}), "d": "nan", "e": None, "f": 2}
    assert plain(odd) == {"a": [1.5, None], "b": [None, {"c": None}], "d": "nan", "e": None, "f": 2}


def test_a_cohort_is_ten_or_all_of_fewer_and_no_more_than_there_are() -> None:
    assert (cohort_of(None, 100), cohort_of(None, 6), cohort_of(6, 6)) == (10, 6, 6)
    with pytest.raises(ParameterError, match="--cohort 7: there are 6 clients; ask for 1 to 6"):
        cohort_of(7, 6)


def test_a_place_that_cannot_be_written_is_told_before_training(tmp_path: Path) -> None:
    """As in ``fedspec simulate fedada2 > out``, where OUT is out/simulate."""
    (tmp_path / "out").touch()
    (tmp_path / "run.json").mkdir()
    patience = ("--rounds", "1000000000")
    for words, told in (
        (("--out", str(tmp_path / "out/simulate")), "cannot make the folder"),
        (("--out", str(tmp_path / "run")), "run.json: it is a folder; give the name of a file"),
        (("--out", str(tmp_path / "run.pdf")), "run.json: it is a folder; give the name of a file"),
        (("--out", str(tmp_path / "a"), "--save", str(tmp_path / "no/run.pt")), "doesn't exist; make it first"),
        (("--out", str(tmp_path / "a"), "--save", str(tmp_path)), "a folder; give the name of a file"),
        (("--out", str(tmp_path / "a"), "--resume", str(tmp_path / "none.pt")), "none.pt: no such file"),
    ):
        inside("simulate", "fedavg", *SMALL[:-2], *patience, *words).refused(told)


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_waits_for_the_round_and_a_second_one_undoes_it(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients of SCAFFOLD have written over what they remember; who insists has the run as it was before the round."""
    first, file = Run._after, tmp_path / "run.pt"

    def interrupted(run: Run, *given: Any) -> Any:
        state = first(run, *given)
        for _ in range(times if len(run.history) == 2 else 0):
            os.kill(os.getpid(), signal.SIGTERM)
        return state

    monkeypatch.setattr(Run, "_after", interrupted)
    # One way to the gradients: which is fastest may be another the second time, and another in the last bit.
    words = ("simulate", "scaffold", *SMALL[:-2], "--way", "looped", "--out", str(tmp_path / "x"), "--save", str(file))
    ended = inside(*words, "--rounds", "6")
    assert ended.code == 143 and "ends after this round, which is then saved" in ended.err
    assert file.exists() and "--resume" in ended.out and "nothing was saved" not in ended.out
    record = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["runs"][0]
    assert len(record["rounds"]) == len(record["times"]) == (3 if times == 1 else 2)
    monkeypatch.undo()
    assert inside(*words, "--rounds", "6", "--resume", str(file)).code == 0
    again = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["runs"][0]
    assert inside(*words, "--rounds", "6").code == 0
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["runs"][0]["rounds"] == again["rounds"]


def test_what_is_resumed_is_there_and_no_longer_than_what_is_asked(tmp_path: Path) -> None:
    two = ("simulate", "fedavg", "--compare", "fednova", *SMALL[:-2], "--out", str(tmp_path / "x"))
    inside(*two, "--rounds", "1", "--resume", str(tmp_path / "none.pt")).refused(
        "these files don't exist: ", "none-fednova-0.pt"
    )
    file = tmp_path / "run.pt"
    assert inside(*two, "--rounds", "2", "--save", str(file)).code == 0
    inside(*two, "--rounds", "1", "--resume", str(file)).refused("2 rounds are done; give --rounds 2 or more")
    (tmp_path / "run-fednova-0.pt").unlink()
    ran = inside(*two, "--rounds", "2", "--resume", str(file))
    assert ran.code == 0 and "nothing is saved of fednova, seed 0: begun anew" in ran.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("fedavg", "--set", "eta_l=0.5"), "settings: eta_l was 0.1, here it is 0.5; give the options"),
        (("fedavg", "--cohort", "2"), "schedule: size was 3, here it is 2; give the options"),
        (("fedadam",), "algorithm: was fedavg, here it is fedadam"),
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


def test_what_is_done_to_gradients_reaches_the_clients(tmp_path: Path) -> None:
    words = ("simulate", "fedavg", *SMALL, "--out", str(tmp_path / "x"))
    ends = {}
    for option in ((), ("--clip", "0.01"), ("--clip-value", "0.001"), ("--weight-decay", "1"), ("--accumulate", "2")):
        inside(*words, *option)
        record = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
        ends[option[:1]] = record["runs"][0]["rounds"][-1]["test_loss"]
        given = {option[0].strip("-").replace("-", "_"): float(option[1])} if option else {}
        assert {n: record["task"].get(n) for n in given} == given
        assert ("clip" in record["task"]) == (option[:1] == ("--clip",))
    assert len({*ends.values()}) == 5
    inside(*words, "--clip", "0").refused("clip: got 0.0; give a norm above 0")


@pytest.mark.parametrize(
    ("option", "said"), [("--eta_l", "--set eta_l=..."), ("--eta-l", "--set eta_l=..."), ("--eta_x", "")]
)
def test_a_hyper_parameter_that_is_asked_as_an_option_is_told_its_place(option: str, said: str) -> None:
    done = fedspec("simulate", "fedavg", f"{option}=0.1")
    assert done.code == 2 and f"No such option: {option}" in done.err
    assert ("--set eta" in done.err) == bool(said) and said in done.err
