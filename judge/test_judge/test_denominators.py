"""Laws of a quantity that is not offered are not required, not exercised, and above all not passed."""

from __future__ import annotations

from typing import Any

import pytest
from test_judge.support import check, fedspec, py, standalone, statuses

from fedspec.contract import Offer
from fedspec_suite.judge.runner import conclude, requirement_obligations
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Conformity, Obligation, Status

pytestmark = pytest.mark.table(1)


def line(name: str, *arguments: str) -> dict[str, Any]:
    (row,) = check(py(f"odd:{name}"), *arguments).rows
    return row


def withheld(row: dict[str, Any]) -> dict[str, str]:
    """The laws that are not offered, with the reason."""
    return {o["law"]: o["reason"] for o in row["obligations"] if o["status"] == "skip"}


def test_what_is_not_shown_is_neither_required_nor_passed() -> None:
    shows, silent = line("shows", "--law", "follows-*"), line("silent", "--law", "follows-*")
    assert shows["passed"] == shows["required"] == silent["required"] + 3
    assert silent["passed"] == silent["required"] == 1
    assert set(withheld(silent)) == {"follows-delta", "follows-m", "follows-v"}
    assert "doesn't return m" in withheld(silent)["follows-m"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "skipped", "reason"),
    [
        ("pinned", {"rate", "scales"}, "cannot be set"),
        ("one_block", {"blocks"}, "one block only"),
        ("rate_pinned", {"rate"}, "eta_l cannot be set"),
        ("mu_pinned", {"proximal-sgd-is-sgd"}, "mu cannot be set"),
    ],
)
def test_what_cannot_be_set_is_withheld_and_the_rest_is_judged(name: str, skipped: set[str], reason: str) -> None:
    row = line(name, "--properties")
    asked = {law: why for law, why in withheld(row).items() if not law.startswith("follows-")}
    assert set(asked) == skipped
    assert all(reason in why for why in asked.values())
    assert row["verdict"] == "conforms"
    assert row["passed"] == row["exercised"] == row["required"] == len(statuses(row)["pass"])


def test_one_session_at_a_time_is_not_asked_for_two() -> None:
    (row,) = check(py("wrong:honest_one_at_a_time")).rows
    assert withheld(row)["isolated"] == "skipped: one session at a time"
    assert row["verdict"] == "conforms"


def test_a_law_without_evidence_is_not_passed() -> None:
    (row,) = check(standalone(), "--only", "fedavg", "--law", "[di][tn]*").rows
    assert "pass" not in statuses(row)


def test_nothing_asked_is_not_conformity() -> None:
    ran = check(py("odd:silent"), "--law", "follows-m")
    assert ran.code == 3
    (row,) = ran.rows
    assert (row["verdict"], row["passed"], row["exercised"], row["required"]) == ("inconclusive", 0, 0, 0)


def test_a_reading_that_asks_more_than_is_fixed() -> None:
    ran = check(py("odd:small_v0"), "--law", "reading-requires", explained=False)
    assert ran.code == 1
    assert "v_0 >= tau^2" in ran.rows[0]["first_deviation"]


@pytest.mark.parametrize(
    ("fixed", "fails"), [({}, []), ({"mu": 0.0}, ["mu > 0"]), ({"mu": 0.5, "rho": 0.0}, ["rho > 0"])]
)
def test_the_authors_code_is_read_where_it_counts_so(fixed: dict[str, float], fails: list[str]) -> None:
    """JYWa/FedNova, distoptim/FedNova.py: of the three ways in which it counts, that of mu > 0 and momentum > 0."""
    offer = Offer("fednova", "round", "wang-2020-code", {"weights": "examples"}, fixed=fixed)
    asked = requirement_obligations(setting_of(offer))
    assert len(asked) == 2
    broken = [o.deviation.note for o in asked if o.status is Status.FAIL and o.deviation]
    assert [note.split("asks ")[1].split(",")[0] for note in broken] == fails


@pytest.mark.slow
def test_a_fixed_tau_with_a_free_v0_meets_the_requirement() -> None:
    assert line("large_tau", "--law", "[rf][eo]*")["verdict"] == "asked in part"


@pytest.mark.slow
def test_where_the_rule_itself_is_not_finite_nothing_is_decided() -> None:
    assert line("no_eps", "--law", "follows-x")["verdict"] == "asked in part"


def obligation(status: Status) -> Obligation:
    return Obligation("law", "float64", status, ())


@pytest.mark.parametrize(
    ("outcomes", "verdict", "counts"),
    [
        ("", Conformity.INCONCLUSIVE, (0, 0, 0)),
        ("s", Conformity.INCONCLUSIVE, (0, 0, 0)),
        ("p", Conformity.CONFORMS, (1, 1, 1)),
        ("pss", Conformity.CONFORMS, (1, 1, 1)),
        ("pi", Conformity.INCONCLUSIVE, (1, 1, 2)),
        ("pe", Conformity.ERROR, (1, 1, 2)),
        ("px", Conformity.EXPECTED, (1, 2, 2)),
        ("pei", Conformity.ERROR, (1, 1, 3)),
        ("peif", Conformity.DOES_NOT, (1, 2, 4)),
    ],
)
def test_the_verdict_is_the_worst_outcome_and_skips_do_not_count(
    outcomes: str, verdict: Conformity, counts: tuple[int, int, int]
) -> None:
    kinds = {"p": Status.PASS, "s": Status.SKIP, "i": Status.INCONCLUSIVE, "e": Status.ERROR, "f": Status.FAIL}
    kinds["x"] = Status.XFAIL
    assert conclude([obligation(kinds[o]) for o in outcomes]) == (verdict, *counts)


def test_the_printed_summary_counts_what_is_not_offered() -> None:
    ran = fedspec("check", py("odd:silent"), "--profile", "quick", "--jobs", "1", "--law", "follows-*", "--details")
    assert ran.code == 0
    assert "1 of 1 check decided" in ran.out and "3 skipped" in ran.out
