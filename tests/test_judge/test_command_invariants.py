"""``fedspec laws --invariants``: the papers' statements as a table and for programs."""

from __future__ import annotations

import pytest
from test_judge.support import inside

from fedspec_suite.laws.invariants import INVARIANTS


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
