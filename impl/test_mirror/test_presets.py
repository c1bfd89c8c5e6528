"""Presets: each value is in its algorithm's domain, and ``fedspec simulate --preset`` trains with it."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from test_judge.support import inside
from test_mirror.test_recipes import edited

from fedspec.catalogue import find
from fedspec.errors import ParameterError, UnknownNameError
from fedspec.usual import usual
from fedspec_torch.recipes import RecipeError
from fedspec_torch.recipes.parser import parsed
from fedspec_torch.recipes.presets import preset, presets, with_preset
from fedspec_torch.run.arguments import hyper_of

EACH = [(name, algorithm) for name, found in presets().items() for algorithm in found.algorithms]
SMALL = ("--data", "breast-cancer", "--model", "logistic", "--clients", "6", "--cohort", "3", "--rounds", "2")


@pytest.mark.parametrize(("name", "algorithm"), EACH, ids=" ".join)
def test_every_value_is_in_the_domain_of_its_algorithm(name: str, algorithm: str) -> None:
    found, row = preset(name), find(algorithm)
    reading = found.reading.get(algorithm)
    own, tried = found.set.get(algorithm, {}), found.tune.get(algorithm, {})
    assert not {*own} & {*tried} and all(len({*values}) == len(values) > 1 for values in tried.values())
    for one in chain([{}], ({n: value} for n, values in tried.items() for value in values)):
        values = {**own, **one}
        h = hyper_of(row, reading, {**usual(row, reading, values), **values})
        assert {n: getattr(h, n) for n in values} == values
    assert row.id == algorithm and {*found.reading} <= {*found.algorithms}


def test_given_values_and_grids_come_before_those_of_a_preset() -> None:
    own, tried = with_preset("fednova-grid", "fedprox", {"mu": 1.0}, {})
    assert own == {"mu": 1.0} and tried == {"eta_l": (0.005, 0.01, 0.02, 0.05, 0.08)}
    own, tried = with_preset("fednova-cifar-10", "fedprox", {}, {"mu": (0.1, 0.2)})
    assert own == {"eta_l": 0.05} and tried == {"mu": (0.1, 0.2)}
    with pytest.raises(ParameterError, match="no values for scaffold; it has some for fedavg, fednova, fedprox"):
        with_preset("fednova-cifar-10", "scaffold", {}, {})
    with pytest.raises(UnknownNameError, match=r"none is called 'fednova'; known: .*fednova-synthetic"):
        preset("fednova")


def trial(lines: str, algorithm: str = "dp-joint") -> Any:
    """The second trial of a recipe, with these lines in the place of its values."""
    old = 'algorithm = "fednova"\nset = { eta_l = 0.1 }'
    return parsed("own", edited(old, f'algorithm = "{algorithm}"\n{lines}')).trials[1]


def test_a_recipe_takes_the_values_of_a_preset() -> None:
    lines = 'preset = "fedada2-table-3-direct"\nset = { tau = 0.5 }\ntuned = { eta = 1.0 }\ngrid = { eta = [0.1, 1.0] }'
    found = trial(lines)
    assert found.reading == "joint-direct" and found.tuned == {"eta": 1.0} and found.grid == {"eta": (0.1, 1.0)}
    assert found.set == {"clip_norm": 0.5, "sigma": 1.0, "eta_l": 1.0, "tau": 0.5, "eps": 1e-3}
    with pytest.raises(RecipeError, match="own: preset: none is called 'x'"):
        trial('preset = "x"')
    with pytest.raises(RecipeError, match="preset fednova-grid sets no value of fedavg; write set, tuned and grid"):
        trial('preset = "fednova-grid"', "fedavg")
    for wrong, kind in (("preset = 3", "preset"), ('preset = "fednova-synthetic"\nset = 3', "set: got 3")):
        with pytest.raises(RecipeError, match=kind):
            trial(wrong, "fednova")


@pytest.mark.slow
@pytest.mark.usefixtures("calm")
def test_the_command_trains_with_a_preset(tmp_path: Path) -> None:
    def record(*words: str) -> Any:
        ran = inside("simulate", *words, *SMALL, "--out", str(tmp_path / "x"))
        assert ran.code == 0, ran.err
        return json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))

    kept = record("fedprox", "--compare", "fedavg", "--preset", "fednova-cifar-10", "--set", "mu=0.5")
    assert kept["task"]["preset"] == "fednova-cifar-10"
    assert [run["hyper"]["eta_l"] for run in kept["runs"]] == [0.05, 0.05]
    assert kept["runs"][0]["hyper"]["mu"] == 0.5
    direct = record("dp-joint", "--preset", "fedada2-table-3-direct")["runs"][0]
    assert direct["options"]["preconditioner"] == "sent" and direct["hyper"]["clip_norm"] == 0.5
    tuned = record("fed-lamb", "--preset", "fed-lamb-grid")
    assert {trial["settings"]["lam"] for trial in tuned["tuning"]["fed-lamb"]["trials"]} == {0.0, 0.01, 0.1}
