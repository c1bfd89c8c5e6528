"""``fedspec reproduce``: the list, a recipe from end to end, what is gone on with, and refusals by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_judge.support import inside
from test_mirror.test_recipes import TEXT


def test_without_a_name_it_lists_them() -> None:
    ran = inside("reproduce", "--json")
    listed = json.loads(ran.out)
    assert ran.code == 0 and {"id", "paper", "place", "claim"} == {*listed[0]}
    assert "fednova-quadratics" in [one["id"] for one in listed]
    assert "fednova-quadratics" in inside("reproduce").out


@pytest.mark.slow
def test_a_recipe_prints_draws_records_and_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "own.toml").write_text(TEXT)
    asked = ("reproduce", str(tmp_path / "own.toml"), "--size", "small", "--out", str(tmp_path / "deep"))
    won = inside(*asked, "--retune")
    assert won.code == 0 and won.out.startswith("plain: eta_l=0.1") and len(won.out.splitlines()) == 1
    ran = inside(*asked, "--store", str(tmp_path / "kept"))
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "FedNova, nowhere: none"
    assert [line.split()[0] for line in lines[3:5]] == ["plain", "normalised"]
    assert lines[5].startswith("Size small decides nothing, --size large does: ")
    assert "ppear" in lines[5] and lines[5].endswith("asked for: at most 1.")
    file = tmp_path / "deep/own-small.json"
    assert lines[6] == f"{file} and {file.with_suffix('.png')} written"
    assert file.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    found = json.loads(file.read_text())
    assert len(found["runs"]) == 4 and [len(r["round"]) for r in found["runs"]] == [4] * 4
    assert [point for point, _ in found["grids"]["plain"]] == [{"eta_l": 0.01}, {"eta_l": 0.1}]
    brief = json.loads((tmp_path / "kept/own.json").read_text())
    assert [{*r["measures"]} for r in brief["runs"]] == [{"distance", "floats"}] * 4

    # A run that is there is not run again: what was written of it is what is judged.
    for r in found["runs"][2:]:
        r["distance"][-1] *= 1000
    file.write_text(json.dumps(found))
    again = inside(*asked, "--json")
    (said,) = json.loads(again.out)
    assert ". Does not appear here" in said["sentence"] and min(said["checks"][0]["values"]) > 100
    (anew,) = json.loads(inside(*asked, "--anew", "--json").out)
    assert anew["sentence"] == lines[5]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("fednova-quadratic",), "recipe: none is called 'fednova-quadratic'; nearest: fednova-quadratics"),
        (("fednova-quadratics", "--size", "huge"), "--size huge: known: small, large"),
        (("none.toml",), "none.toml: cannot be read"),
        (("fednova-quadratics", "--out", "/dev/null/x"), "--out /dev/null/x: cannot make the folder"),
    ],
)
def test_what_cannot_be_run_is_refused(asked: tuple[str, ...], words: str) -> None:
    ran = inside("reproduce", *asked)
    assert ran.code == 2 and words in ran.err
