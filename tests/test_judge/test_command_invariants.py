"""``fedspec laws``: one of them, some, and the papers' statements as a table and for programs."""

from __future__ import annotations

import re

import pytest
from test_judge.support import inside

from fedspec.catalogue import CATALOGUE
from fedspec_properties.invariants import INVARIANTS
from fedspec_suite.laws import every, retired


@pytest.mark.slow
def test_all_of_them_with_what_their_laws_exercise() -> None:
    rows = inside("laws", "--invariants", "--json").rows
    assert [row["id"] for row in rows] == [v.id for v in INVARIANTS]
    (row,) = (row for row in rows if row["id"] == "afga.27")
    assert row["laws"] == ["scales", "gossip-stretches"] and row["source"] == "eq. (2) (L112-130)"
    assert {"fedamsgrad", "afga", "cafga"} <= set(row["algorithms"])
    assert {"fedamsgrad.v_hat", "fedamsgrad.step"} <= set(row["equations"])


def test_one_paper_as_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    ran = inside("laws", "--paper", "fednova")
    assert ran.code == 0
    assert "fednova.44" in ran.out and "afga.1" not in ran.out
    assert "test_steps_of_epochs" in ran.out.replace("\n", "")


def test_a_paper_that_is_none_is_refused() -> None:
    inside("laws", "--invariants", "--paper", "gravity").refused("'gravity'", "fednova")


def test_one_law_with_whom_it_asks_and_what_it_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    said = inside("laws", "control-is-mean").out
    assert said.startswith("control-is-mean\n") and "does not read the rule" in said
    asked = {row["law"] for row in inside("laws", "--why", "scaffold", "--json").rows if row["why"]}
    assert "control-is-mean" in asked and ": scaffold\n" in re.sub(" +\n", "\n", said)
    assert "asked by" in said and "check --properties" in said
    assert "fedspec mutants run --law control-is-mean" in said


def test_a_law_that_is_asked_no_more_is_told_with_what_shows_the_same() -> None:
    for id in retired():
        assert id not in every()
        said = " ".join(inside("laws", id).out.split())
        assert said.startswith(f"{id}: ") and "asked no more; instead, " in said
    inside("check", "spec", "--law", "buffers-order").refused("buffers-order", "asked no more", "buffers-follow")


def test_of_a_law_that_everybody_is_asked_the_first_names_stand() -> None:
    assert re.search(
        rf"asked of +{len(CATALOGUE)} of {len(CATALOGUE)} .* and \d+\s+more", inside("laws", "follows-x").out, re.S
    )


def test_some_laws_by_their_ids() -> None:
    rows = inside("laws", "control-*", "--json").rows
    assert [row["id"] for row in rows] == [law for law in every() if law.startswith("control-")] != []
    inside("laws", "gravity").refused("'gravity'", "fedspec laws")
    inside("laws", "control-*", "--why", "scaffold").refused("PATTERN", "leave it out")
