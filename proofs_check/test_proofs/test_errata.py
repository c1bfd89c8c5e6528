"""Errata: every line of the tables fails as printed and holds as mended, and one that does not is noticed."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from test_judge.support import inside

from fedspec.papers import PAPERS
from fedspec_proofs import ledger
from fedspec_proofs.chain import run_evidence
from fedspec_proofs.claim import Severity, Verdict
from fedspec_proofs.errata import Erratum, errata, judged, true_at

pytestmark = pytest.mark.long

ROWS = [(key, row) for key, paper in PAPERS.items() for row in errata(paper.package)]
RUN = [(key, row) for key, row in ROWS if row.fails]
NAMED = [f"{key}-{row.place}".replace(" ", "-") for key, row in RUN]


@pytest.mark.slow
def test_every_paper_has_a_table_and_a_claim_that_runs_it() -> None:
    assert {key for key, _ in ROWS} == set(PAPERS) and len(RUN) >= 20
    for key in PAPERS:
        claim = ledger.claims()[f"{key}.errata"]
        assert claim.verdict is Verdict.REFUTED and not claim.printed
        record = run_evidence(claim)
        assert record.verdict is Verdict.REFUTED
        assert all(row.place in record.evidence for of, row in ROWS if of == key)


def test_a_line_says_where_it_stands_and_how_bad_it_is() -> None:
    assert len({(key, row.place) for key, row in ROWS}) == len(ROWS)
    for _, row in ROWS:
        assert re.search(r"\(L\d+", row.place) and row.printed and row.mended
        assert row.severity in (Severity.SLIP, Severity.CONSTANT)
        assert bool(row.fails) == bool(row.holds) and (row.fails or row.words)


@pytest.mark.table(10)
@pytest.mark.parametrize("row", [row for _, row in RUN], ids=NAMED)
def test_a_line_that_is_right_as_printed_or_wrong_as_mended_is_noticed(row: Erratum) -> None:
    assert judged((row,)).verdict is Verdict.REFUTED
    for other in (replace(row, fails=row.holds), replace(row, holds=row.fails), replace(row, fails="1 = 1")):
        found = judged((row, other))
        assert found.verdict is Verdict.UNKNOWN and row.place in found.evidence


def test_both_formulas_are_of_the_same_numbers_and_use_each() -> None:
    for _, row in RUN:
        fails, holds = (set(re.findall(r"[A-Za-z_]\w*", formula)) & set(row.at) for formula in (row.fails, row.holds))
        assert fails & holds and fails | holds == set(row.at), row.place


@pytest.mark.parametrize(("formula", "holds"), [("x^2 <= 1/4", True), ("x < 1/2", False), ("sqrt(x^2) = -x", False)])
def test_formulas_are_judged_exactly(formula: str, holds: bool) -> None:
    assert true_at(formula, {"x": "1/2"})[0] is holds


@pytest.mark.parametrize("formula", ["x + y = 1", "x + 0.5 = 1", "sqrt(-x) = 0"])
def test_what_is_no_exact_number_is_refused(formula: str) -> None:
    with pytest.raises(ValueError, match="must be an exact real number"):
        true_at(formula, {"x": "1/2"})


def test_a_slip_has_a_row_of_its_own_only_where_a_chain_uses_it_or_what_repairs_it() -> None:
    known = ledger.claims()
    used = {link for claim in known.values() for link in claim.chain}
    used |= {known[id].repairs for id in used}
    light = [id for id, claim in known.items() if claim.severity in (Severity.SLIP, Severity.CONSTANT)]
    assert light and [id for id in light if id not in used] == []


def test_show_prints_the_lines() -> None:
    shown = inside("claims", "show", "afga.errata").out
    assert "between eqs. (16) and (17) (L1395): printed 1 = 2, which is false; mended 1 = 1" in " ".join(shown.split())
