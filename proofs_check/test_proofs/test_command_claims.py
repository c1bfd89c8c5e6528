"""The command ``fedspec claims``: the ledger, one claim, running some again, and what it refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_judge.support import fedspec, inside

from fedspec_proofs import execution, ledger, stored
from fedspec_proofs.claim import Finding, Verdict

CHEAP = ("fed-lamb.assumption-1", "afga.false-32-twice")
"""A proof and a false variant that take no time."""


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which no line is folded."""
    monkeypatch.setenv("COLUMNS", "240")


REFUSED = [
    (("show", "theorem-1"), ("'theorem-1'", "fedspec claims")),
    (("run",), ("no claim", "--all")),
    (("run", "fednova.theorem-9"), ("'fednova.theorem-9'", "fedspec claims")),
    (("run", CHEAP[0], "--limit", "0"), ("limit", "seconds")),
    (("run", "--paper", "adam"), ("'adam'", "fedada2")),
    (("--paper", "adam"), ("'adam'", "client-centric")),
    (("--verdict", "true"), ("'true'", "undecidable-here")),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids="-".join)
def test_refuses_in_one_line(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    inside("claims", *arguments).refused(*words)


def test_the_table_has_a_line_for_each_claim() -> None:
    printed = inside("claims", "--all").out
    for id, claim in ledger.claims().items():
        assert re.search(rf"{re.escape(id)} +{re.escape(claim.said)} +{claim.share} ", printed), id
    assert "A statement is judged as it is printed there" in printed
    counted = re.search(r"\b(\d+) refuted", printed)
    refuted = [c for c in ledger.claims().values() if c.verdict is Verdict.REFUTED]
    assert counted and int(counted[1]) == len(refuted)


def test_it_leads_with_what_the_papers_are_read_for() -> None:
    printed = inside("claims").out
    lines = {h.statement.label: h for h in ledger.headlines("fednova")}
    assert list(lines)[:4] == ["Lemma 1", "Theorem 1", "Theorem 2", "Theorem 3"] and len(ledger.headlines()) == 60
    assert re.search(r"Theorem 2 +proved, part: theorem-2, eq-110, lemma-3 ", printed)
    first = "refuted, remark: eq-8-fedprox; certified, part: theorem-1-round, eq-91-certified"
    assert re.search(rf"Theorem 1 +proved, part: theorem-1; {re.escape(first)}", printed)
    assert re.search(r"Theorem 3 +proved, part: theorem-3 ", printed)
    third = "refuted, false result: corollary-3; repaired, not contradicted, part: corollary-3-repaired"
    assert re.search(rf"Corollary 3 +{re.escape(third)}", printed)
    assert "assumption-1" not in printed and "fedspec claims --all" in printed
    assert "AFGA" not in inside("claims", "--paper", "fednova").out


def test_every_listing_says_how_much_is_shown_and_how_severe_a_refutation_is() -> None:
    """A row under a statement that its source does not name is part of it at most: eq. (110) of Theorem 2."""
    rows = {row["id"]: row for row in inside("claims", "--json").rows}
    known = ledger.claims()
    assert all((rows[id]["extent"], rows[id]["severity"]) == (c.extent, c.severity) for id, c in known.items())
    assert rows["afga.theorem-4-6"]["extent"] == "part" and rows["fedada2.theorem-20"]["severity"] == "false result"
    assert "fedada2.lemma-15  " in (page := inside("claims", "show", "fedada2.lemma-15").out)
    assert "refuted, slip (exact)" in page and "proved, whole" in inside("claims", "show", "fednova.eq-110").out
    led = " ".join(inside("claims").out.split())
    assert "Theorem 4.6 proved, part: theorem-4-6," in led and "Corollary 4.7 proved, part: corollary-4-7" in led
    assert "Lemma 16 proved, whole: lemma-16" in led and "proof breaks: l401, l407" in led
    (ran,) = inside("claims", "run", "fedada2.lemma-15", "--json").rows
    assert ran["severity"] == "slip" and ran["extent"] is None


@pytest.mark.parametrize("verdict", ["proved", "checked", "not contradicted", "refuted", "repaired"])
def test_chooses_by_paper_and_verdict(verdict: str) -> None:
    rows = inside("claims", "--paper", "fednova", "--verdict", verdict, "--json").rows
    assert rows and {row["paper"] for row in rows} == {"fednova"} and {row["verdict"] for row in rows} == {verdict}
    assert all(bool(row["repairs"]) == (verdict == "repaired") for row in rows)


def test_shows_at_which_sizes_something_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ledger.find(CHEAP[0])
    small = replace(real, verdict=Verdict.PROVED_AT_SIZES, sizes="d = 1, K <= 3")
    monkeypatch.setattr(ledger, "find", lambda id: small)
    assert "Shown at these sizes only: d = 1, K <= 3" in inside("claims", "show", CHEAP[0]).out
    (row,) = inside("claims", "show", CHEAP[0], "--json").rows
    assert row["verdict"] == "proved at sizes" and row["sizes"] == "d = 1, K <= 3"


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("fednova.accumulation", "For any tau see fednova.accumulation-every-tau."),
        ("fedada2.sm3-upper-bound", "For any cover: let s(j) <= mu(r) whenever j is in S_r."),
    ],
)
def test_shows_by_which_argument(id: str, words: str) -> None:
    """Statements proved at sizes hold beyond them by an argument, or in another row, which the page has to give."""
    assert words in inside("claims", "show", id).out


def test_shows_what_a_search_rests_on() -> None:
    for id, record in stored.load().items():
        if record.sharpness and not record.sharpness.sharp:
            assert re.search(r"largest left/right [-\d.e]+", inside("claims", "show", id).out), id
            (row,) = inside("claims", "show", id, "--json").rows
            assert row["sharpness"]["ratio"] == record.sharpness.ratio
            return
    raise AssertionError("every search of the ledger is sharp")


def test_rows_carry_everything() -> None:
    (row,) = (r for r in inside("claims", "--json").rows if r["id"] == CHEAP[0])
    claim, record = ledger.find(CHEAP[0]), stored.load()[CHEAP[0]]
    assert row["statement"] == claim.statement and row["engine"] == "smt" and row["assumptions"] == claim.assumptions
    assert row["evidence"] == record.evidence and set(row["dropped"]) == set(claim.assumptions)
    assert row["second"]["instances"] > 0 and row["seconds"] == record.seconds


def test_shows_a_claim_from_all_sides() -> None:
    for id, claim in ledger.claims().items():
        if claim.repairs:
            repaired, page = ledger.find(claim.repairs), inside("claims", "show", claim.repairs).out
            assert f"Repaired in {id}" in page and str(repaired.source) in page
            assert f"Repairs {claim.repairs}" in inside("claims", "show", id).out
            break
    page = inside("claims", "show", CHEAP[0]).out
    assert "assumptions, and what happens without each" in page and "looked at again" in page
    variant = ledger.find(CHEAP[1])
    assert f"the true one is {variant.false_of}" in inside("claims", "show", CHEAP[1]).out
    assert CHEAP[1] in inside("claims", "show", variant.false_of).out


def test_runs_some_and_ends_with_nought() -> None:
    ran = inside("claims", "run", *CHEAP, "--jobs", "1")
    assert ran.code == 0, ran.out
    assert re.search(rf"{re.escape(CHEAP[0])} +proved at sizes +proved at sizes +smt", ran.out)
    assert re.search(rf"{re.escape(CHEAP[1])} +refuted +refuted", ran.out)
    assert "2 as it stands" in ran.out


def test_leaves_out_what_takes_long() -> None:
    seconds = stored.load()[CHEAP[0]].seconds
    ran = inside("claims", "run", *CHEAP, "--jobs", "1", "--upto", str(seconds / 2))
    assert ran.code == 0 and "1 as it stands, 1 longer than" in ran.out
    inside("claims", "run", CHEAP[0], "--upto", "0").refused("no claim")


@pytest.mark.slow
def test_the_same_with_two_processes() -> None:
    ran = fedspec("claims", "run", *CHEAP, "--jobs", "2", "--json")
    assert ran.code == 0, ran.err
    assert [(row["id"], row["as_it_stands"]) for row in ran.rows] == [(id, True) for id in CHEAP]


def pretend(monkeypatch: pytest.MonkeyPatch, body: Any) -> None:
    """Another body behind the cheap proof."""
    real = ledger.find

    def find(id: str) -> Any:
        return replace(real(id), body=body) if id == CHEAP[0] else real(id)

    monkeypatch.setattr(execution, "find", find)


def test_a_claim_that_comes_out_otherwise_ends_with_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stored, "PATH", tmp_path / "ledger.json")
    pretend(monkeypatch, lambda: Finding(Verdict.REFUTED, "1 > 0"))
    ran = inside("claims", "run", CHEAP[0], "--jobs", "1", "--store")
    assert ran.code == 1
    assert "came out refuted, stands as proved at sizes: 1 > 0" in " ".join(ran.out.split())
    assert "1 NOT as it stands" in ran.out
    assert stored.load() == {}, "what is wrong is not stored"


def test_a_claim_that_crashes_is_told_of_and_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lambda: 1 / 0)
    ran = inside("claims", "run", *CHEAP, "--jobs", "1")
    assert ran.code == 1
    assert "ZeroDivisionError" in ran.out and "1 as it stands, 1 NOT as it stands" in ran.out


def test_a_claim_that_takes_too_long_ends_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def forever() -> Finding:
        # Work of the specification: this is what may be broken off.
        while True:
            ledger.labels(ledger.claims()[CHEAP[0]])

    pretend(monkeypatch, forever)
    ran = inside("claims", "run", CHEAP[0], "--jobs", "1", "--limit", "0.2", "--json")
    assert ran.code == 1
    assert ran.rows[0]["why"] == "timed out after 0.2 s of processor time" and not ran.rows[0]["as_it_stands"]


CHAINED = "fednova.drift-assembly"


@pytest.mark.slow
def test_runs_a_claim_with_its_links() -> None:
    ran = inside("claims", "run", CHAINED, "--chain", "--jobs", "1", "--json")
    links = ledger.find(CHAINED).chain
    assert ran.code == 0 and {row["id"] for row in ran.rows} == {CHAINED, *links}
    inside("claims", "run", CHEAP[0], "--chain").refused(CHEAP[0], "follows from no other claim")


@pytest.mark.slow
def test_a_link_that_fails_fails_what_follows_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ledger.find

    def find(id: str) -> Any:
        other = replace(real(id), body=lambda: Finding(Verdict.REFUTED, "1 > 0"))
        return other if id == "fednova.eq-76" else real(id)

    monkeypatch.setattr(execution, "find", find)
    ran = inside("claims", "run", CHAINED, "--chain", "--jobs", "1")
    assert ran.code == 1 and "2 NOT as it stands" in ran.out
    assert "a link did not come out as it stands: fednova.eq-76" in " ".join(ran.out.split())
    assert inside("claims", "run", CHAINED, "--jobs", "1").code == 0, "alone it does not know"


@pytest.mark.slow
def test_a_link_that_is_removed_fails_what_follows_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ledger.find
    less = replace(real(CHAINED), chain=tuple(id for id in real(CHAINED).chain if id != "fednova.eq-76"))
    monkeypatch.setattr(execution, "find", lambda id: less if id == CHAINED else real(id))
    ran = inside("claims", "run", CHAINED, "--chain", "--jobs", "1")
    assert ran.code == 1 and "no link of the chain: fednova.eq-76" in " ".join(ran.out.split())


def test_stores_what_came_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stored, "PATH", tmp_path / "ledger.json")
    assert inside("claims", "run", *CHEAP, "--jobs", "1", "--store").code == 0
    assert list(stored.load()) == list(CHEAP)
    assert stored.load()[CHEAP[0]].second is not None
    (tmp_path / "ledger.json").write_text("[]")
    inside("claims").refused("no ledger", "--all")
