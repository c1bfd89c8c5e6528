"""Other names of an algorithm: those of another version of its paper, taken wherever its id is, never in silence."""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from test_judge.support import ROOT, inside

import fedspec_torch
from fedspec.catalogue import ALIASES, CATALOGUE, find, id_of
from fedspec.client import sm3
from fedspec.contract import Offer
from fedspec.errors import UnknownNameError
from fedspec_suite.judge.request import chosen
from fedspec_suite.measure.setting import setting_of
from fedspec_torch import Federation, cohorts, simulate

WITH_SM3, WITHOUT = "fedada2++", "fedada2@v3"


def test_each_is_of_one_row_and_is_no_id() -> None:
    names = Counter(name for a in CATALOGUE.values() for name in a.aliases)
    assert set(names) == set(ALIASES) and max(names.values()) == 1
    assert not set(ALIASES) & set(CATALOGUE) and all(name == name.lower() for name in ALIASES)


def test_the_names_of_v3_lead_to_the_forms_with_and_without_sm3() -> None:
    """By the rules that the rows run, not by their words."""
    uses = {name: {inspect.getmodule(rule) for rule in find(name).rules} for name in (WITH_SM3, WITHOUT)}
    assert sm3 in uses[WITH_SM3] and sm3 not in uses[WITHOUT]
    assert {find(name).source.partition(",")[0] for name in uses} == {"FedAda2"}
    # Each says what the other is called, since v3 gives the first name of one to the other.
    assert find(WITHOUT).id in find(WITH_SM3).aliases[WITH_SM3]
    assert find(WITH_SM3).id in find(WITHOUT).aliases[WITHOUT]


@pytest.mark.table(1)
@pytest.mark.parametrize("name", [*ALIASES, "FedAda2++"])
def test_the_command_takes_it_and_says_whose_name_it_is(name: str) -> None:
    row = find(name)
    said = inside("show", name).out
    assert said.startswith(f"{row.id}  ") and said == inside("show", row.id).out
    assert all(f"also {alias}: {words}" in said for alias, words in row.aliases.items())
    assert inside("graph", "--of", name).out == inside("graph", "--of", row.id).out
    listed = {line["id"]: line["aliases"] for line in inside("list", "--json").rows}
    assert listed[row.id] == dict(row.aliases)
    assert f"{row.id} ({name.lower()}) " in inside("list").out


@pytest.mark.slow
def test_the_judge_takes_it_in_patterns_and_prints_the_id() -> None:
    offers = [Offer(name, "round", "fedada2") for name in ("fedada2", "joint-local")]
    assert chosen(offers, [f"{WITH_SM3}/round"]) == [0] and chosen(offers, [WITHOUT]) == [1]
    assert chosen(offers, ["fedada2*"]) == [0], "a pattern is of ids"
    (row,) = inside("check", "spec", "--only", f"{WITH_SM3}/round/fedada2", "--law", "inputs", "--json").rows
    assert row["algorithm"] == "fedada2" and "--only fedada2/round" in row["command"]


def test_an_offer_says_the_id() -> None:
    offer = Offer("fedada2", "round", "fedada2")
    assert setting_of(offer).algorithm.id == "fedada2"
    with pytest.raises(UnknownNameError, match="write 'fedada2'"):
        setting_of(replace(offer, algorithm=WITH_SM3))


def test_the_mirror_takes_it() -> None:
    data = [(torch.ones(2, 1), torch.zeros(2, 1)) for _ in range(2)]
    fed = Federation(torch.nn.Linear(1, 1), torch.nn.MSELoss(), data, batch_size=2)
    numbers: dict[str, Any] = {"eta": 0.1, "beta1": 0.9, "tau": 0.1, "v0": 0.01, "eta_l": 0.1, "eps": 0.1}
    runs = [simulate(n, fed, plan=cohorts(2), rounds=1, **numbers) for n in (WITH_SM3, "fedada2")]
    assert [run.algorithm.id for run in runs] == ["fedada2", "fedada2"]
    assert fedspec_torch.run.arguments.trainer(WITHOUT).id == "joint-local"


@pytest.mark.slow
def test_simulate_says_whose_name_it_is(tmp_path: Path) -> None:
    few = ("--rounds", "1", "--clients", "2", "--steps", "1", "--out", str(tmp_path / "run"))
    said = inside("simulate", WITH_SM3, "--compare", f"{WITHOUT},fedada2", "--set", f"{WITH_SM3}:z=2", *few).out
    for id in ("fedada2", "joint-local"):
        assert all(f"{id}, also {other}: {words}" in said for other, words in CATALOGUE[id].aliases.items())
    assert said.count(" z=2") == 1, "a setting by the other name is that row's, and the row runs once"


def test_what_nobody_is_called() -> None:
    assert id_of("gravity") == "gravity" and id_of("fedada*") == "fedada*"
    with pytest.raises(UnknownNameError, match=r"nearest: .*fedada2"):
        find("FedAda2")


@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("FedAvg", "fedavg"),
        ("SCAFFOLD", "scaffold"),
        ("multi_krum", "multi-krum"),
        ("MultiKrum", "multi-krum"),
        ("SM3-II", "sm3-ii"),
        ("FedLAMB", "fed-lamb"),
        ("Fed-Median", "median"),
        ("RFA", "geometric-median"),
    ],
)
def test_it_is_found_however_it_is_spelled(name: str, id: str) -> None:
    assert find(name) is CATALOGUE[id] and id_of(name) == id
    assert inside("show", name, "--json").rows[0]["id"] == id


def test_what_two_rows_may_be_called_is_not_guessed() -> None:
    """Fed-AMS is a baseline of Fed-LAMB, FedAMS the algorithm of Wang, Lin and Chen."""
    assert (id_of("FedAMS"), id_of("Fed-AMS"), id_of("fed_ams")) == ("fedams", "fed-ams", "fed_ams")
    bare = Counter("".join(c for c in id if c.isalnum()) for id in CATALOGUE)
    assert [name for name, n in bare.items() if n > 1] == ["fedams"]
    with pytest.raises(UnknownNameError, match=r"nearest: fedams, .*fed-ams"):
        find("fed_ams")


@pytest.mark.parametrize(
    ("word", "ids"),
    [
        ("FedOpt", {"fedadagrad", "fedadam", "fedyogi"}),
        ("weiszfeld", {"geometric-median"}),
        ("multikrum", {"multi-krum"}),
        ("proxskip", {"scaffnew"}),
        ("liang et al", {"vrl-sgd"}),
    ],
)
def test_the_list_is_of_those_that_a_word_is_said_of(word: str, ids: set[str]) -> None:
    assert {row["id"] for row in inside("list", word, "--json").rows} == ids


def test_a_word_that_is_said_of_none_is_refused() -> None:
    ran = inside("list", "gravity")
    assert ran.code == 2 and "have 'gravity'" in ran.err
    assert len(inside("list", "--json").rows) == len(CATALOGUE)


def test_every_method_of_gossip_is_found_by_that_word() -> None:
    """D2, DIGing and LED do not have the word in their own text."""
    found = {row["id"] for row in inside("list", "gossip", "--json").rows}
    assert {"d2", "diging", "led", "dsgd", "dadam", "choco", "k-gt", "gossip-pga", "afga"} <= found


def test_the_readme_has_the_names_that_versions_of_a_paper_give_to_several_rows() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(words in readme for id in ("fedada2", "joint-local") for words in CATALOGUE[id].aliases.values())
