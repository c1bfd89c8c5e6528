"""``fedspec simulate --tune``: what was tried is printed and kept, and whom nothing was tried of is marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from test_judge.support import inside

from fedspec.catalogue import find
from fedspec.errors import ParameterError
from fedspec_train.cli.settings import set_and_tried

pytestmark = [pytest.mark.table(2), pytest.mark.usefixtures("calm")]

SMALL = ("--data", "breast-cancer", "--model", "logistic", "--clients", "24", "--cohort", "3", "--rounds", "4")


def noted(labels: list[str], savefig: Any) -> Any:
    """Write a picture, and note what it calls its lines."""

    def write(figure: Figure, *given: Any, **more: Any) -> None:
        labels.extend(text.get_text() for legend in figure.legends for text in legend.get_texts())
        savefig(figure, *given, **more)

    return write


def test_what_is_said_of_one_algorithm_goes_before_what_is_said_of_all() -> None:
    rows = [find("fedavg"), find("fedadam")]
    given, grids = set_and_tried(["eta_l=0.5"], ["fedadam:eta_l=1,2", "fedadam:eta=0.1,0.2"], rows)
    assert given == {"fedavg": {"eta_l": 0.5}, "fedadam": {}}
    assert grids == {"fedavg": {}, "fedadam": {"eta_l": (1, 2), "eta": (0.1, 0.2)}}
    given, grids = set_and_tried(["fedavg:eta_l=0.5"], ["eta_l=1,2", "weights=uniform,examples"], rows)
    assert given == {"fedavg": {"eta_l": 0.5}, "fedadam": {}}
    assert grids["fedavg"] == {"weights": ("uniform", "examples")} and grids["fedadam"]["eta_l"] == (1, 2)
    with pytest.raises(ParameterError, match="--tune eta_l: --set gives it for fedavg too"):
        set_and_tried(["eta_l=1"], ["eta_l=1,2"], rows)


@pytest.mark.slow
def test_the_choice_trains_and_the_untuned_are_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, file = tmp_path / "pair", tmp_path / "run.pt"
    words = ["simulate", "fedavg", *SMALL, "--compare", "dsgd,scaffold", "--seeds", "2", "--out", str(out)]
    words += ["--tune", "fedavg:eta_l=1e-7,0.1,0.2", "--tune", "dsgd:eta_l=0.1,1e38", "--save", str(file)]
    labels: list[str] = []
    monkeypatch.setattr(Figure, "savefig", noted(labels, Figure.savefig))
    ran = inside(*words)
    assert ran.code == 0, ran.err
    assert labels == ["fedavg", "dsgd", "scaffold (not tuned)"]
    kept = json.loads(out.with_suffix(".json").read_text())
    tuning = kept["tuning"]
    assert {*tuning} == {"fedavg", "dsgd"}
    scores = {t["settings"]["eta_l"]: t["score"] for t in tuning["fedavg"]["trials"]}
    best = min(scores, key=lambda rate: float(scores[rate]))
    assert [*scores] == [1e-7, 0.1, 0.2] and tuning["fedavg"]["choice"] == {"eta_l": best} and best > 0.01
    assert [t["score"] is None for t in tuning["dsgd"]["trials"]] == [False, True]
    assert [r["hyper"]["eta_l"] for r in kept["runs"]] == [best, best, 0.1, 0.1, 0.1, 0.1]
    assert [r["tuned"] for r in kept["runs"]] == [["eta_l"]] * 4 + [[]] * 2
    lines = [line.split() for line in ran.out.splitlines()]
    assert [line[-1] for line in lines if line[:1] == [str(best)]] == ["chosen"]
    assert ["1e+38", "diverged"] in lines and sum("chosen" in line for line in lines) == 2
    assert "fedavg: held out 5 of 24 clients, of seed 0; the last round" in ran.out
    assert "since clients are a graph, of seed 0; the last round; at the edge of the grid: eta_l" in ran.out
    assert ["scaffold", "(not", "tuned)"] in [line[:3] for line in lines]
    assert "tuned on seed 0 alone: eta_l of fedavg; eta_l of dsgd; " in ran.out
    assert "not tuned, so no match for those that are: scaffold" in ran.out

    # Gone on with, nothing is tried again: the record of what was tried is read, and says what is trained.
    found = tmp_path / "run-fedavg-tuning.json"
    content = json.loads(found.read_text())
    for trial in content["trials"]:
        trial["score"] = 5.0 + (trial["settings"]["eta_l"] != best)
    found.write_text(json.dumps(content))
    again = inside(*words, "--resume", str(file))
    assert again.code == 0, again.err
    later = json.loads(out.with_suffix(".json").read_text())
    assert [t["score"] for t in later["tuning"]["fedavg"]["trials"]] == [t["score"] for t in content["trials"]]
    assert [r["rounds"] for r in later["runs"]] == [r["rounds"] for r in kept["runs"]]
    assert [r["resumed"] for r in later["runs"]] == [4] * 6
    inside(*words, "--tune", "fedavg:eta=1,2", "--resume", str(file)).refused("grid: tuned with")
    found.unlink()
    inside(*words, "--resume", str(file)).refused("run-fedavg-tuning.json is gone, which says what was tuned")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--tune", "eta_l"), "--tune eta_l: expected NAME=VALUE, such as eta_l=0.01,0.1"),
        (("--tune", "eta_k=1,2"), "--tune eta_k: none of fedavg has it"),
        (("--tune", "eta_l=-1,1"), "eta_l: got -1"),
        (("--tune", "eta_l="), "grid: eta_l: got (); give a list of values"),
        (("--tune", "eta_l=0.1,0.1"), "a value occurs twice"),
        (("--tune", "eta_l=0.1", "--tune-by", "f1"), "by: got 'f1'; known: loss, accuracy"),
        (("--tune", "eta_l=0.1", "--set", "eta_l=1"), "--tune eta_l: --set gives it for fedavg too"),
    ],
)
def test_what_cannot_be_tried_is_refused_by_name(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    inside("simulate", "fedavg", *SMALL, *words, "--out", str(tmp_path / "x")).refused(told)
    assert not list(tmp_path.iterdir())
