"""The ledger: every numbered statement has its claims, every claim comes out as it stands, every false one falls."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest

from fedspec.papers import PAPERS
from fedspec_proofs import ledger, stored
from fedspec_proofs.chain import UNDOUBTED
from fedspec_proofs.claim import CLOSE, Claim, Engine, Extent, Record, Severity, Verdict
from fedspec_proofs.engines.search import HALF

pytestmark = [pytest.mark.long, pytest.mark.table(10)]

CLAIMS, VARIANTS, STORED = ledger.claims(), ledger.variants(), stored.load()

NUMBERED: dict[str, dict[str, str]] = {
    # One counter for everything but the assumptions: 1 to 30 without a gap.
    "fedada2": {
        "assumption": "Assumption 1, Assumption 2",
        "definition": "Definition 1, Definition 3, Definition 11, Definition 12, Definition 19",
        "proposition": "Proposition 2, Proposition 5, Proposition 9, Proposition 10, Proposition 14",
        "theorem": "Theorem 4, Theorem 6, Theorem 13, Theorem 20, Theorem 25",
        "corollary": "Corollary 7, Corollary 8, Corollary 23, Corollary 24, Corollary 27, Corollary 29",
        "lemma": "Lemma 15, Lemma 16, Lemma 17, Lemma 18, Lemma 21, Lemma 22, Lemma 26, Lemma 28, Lemma 30",
    },
    "fed-lamb": {
        "assumption": "H1, H2, H3, H4, H5",
        "lemma": "Lemma 1, Lemma 2",
        "theorem": "Theorem 1, Theorem 2, Theorem 3",
        "corollary": "Corollary 1",
    },
    "afga": {
        "assumption": "Assumption 4.1, Assumption 4.2, Assumption 4.3, Assumption 4.4, Assumption 4.5, Assumption D.1, "
        "Assumption D.2",
        "theorem": "Theorem 4.6, Theorem D.3",
        "corollary": "Corollary 4.7",
        "remark": "Remark 3.1, Remark 4.8, Remark 4.9, Remark 4.10",
        "lemma": "Lemma F.1, Lemma F.2, Lemma F.3, Lemma F.4, Lemma F.5, Lemma F.6, Lemma F.7, Lemma F.8, Lemma F.9",
    },
    "client-centric": {
        "assumption": "Assumption 1, Assumption 2, Assumption 3, Assumption 4",
        "theorem": "Theorem 4.1",
        "corollary": "Corollary 4.1.1",
        "remark": "Remark 4.1.1, Remark 4.1.2, Remark 4.1.3",
    },
    "fednova": {
        "assumption": "Assumption 1, Assumption 2, Assumption 3",
        "lemma": "Lemma 1, Lemma 2, Lemma 3, Lemma 4, Lemma 5",
        "theorem": "Theorem 1, Theorem 2, Theorem 3",
        "corollary": "Corollary 1, Corollary 2, Corollary 3",
    },
}
"""Numbers of the papers' statements, read off their texts."""

HOLDS = (
    Verdict.PROVED,
    Verdict.PROVED_AT_SIZES,
    Verdict.CERTIFIED,
    Verdict.TIGHT,
    Verdict.CHECKED,
    Verdict.NOT_CONTRADICTED,
)


def sound(claim: Claim, record: Record) -> None:
    """The demands on every record, beside its verdict."""
    assert record.evidence
    if claim.verdict in HOLDS:
        assert set(record.dropped) == set(claim.assumptions), "every assumption is dropped in turn"
    if claim.verdict in (Verdict.PROVED, Verdict.PROVED_AT_SIZES) and claim.engine in UNDOUBTED:
        assert record.second is not None and record.second.instances >= 10
    if claim.verdict is Verdict.CHECKED:
        assert record.sharpness is not None and record.sharpness.noticed, "it says what it sees"
        assert record.sharpness.ratio >= CLOSE, "it comes within a factor two of the bound"
        assert all(record.sharpness.noticed.values()), "it sees every part of the bound that is missing"
    if claim.verdict in (Verdict.CHECKED, Verdict.NOT_CONTRADICTED) and claim.engine is Engine.SEARCH:
        assert record.sharpness is not None and any(HALF in name for name in record.sharpness.noticed), (
            "the whole right side is halved"
        )
    if claim.verdict is Verdict.REFUTED:
        assert re.search(r"\d", record.evidence), "a refutation names its numbers"


def test_a_false_variant_spoils_something_true() -> None:
    for id, variant in VARIANTS.items():
        assert CLAIMS[variant.false_of].verdict in HOLDS, id
        assert variant.statement != CLAIMS[variant.false_of].statement, id


def test_there_are_enough_false_variants_of_every_paper() -> None:
    counted = Counter(v.paper for v in VARIANTS.values())
    assert sum(counted.values()) >= 20
    assert set(counted) == set(PAPERS)


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_numbered_statement_has_a_row(paper: str) -> None:
    rows = {(s.kind, s.label) for s in ledger.statements() if s.paper == paper}
    for kind, labels in NUMBERED[paper].items():
        for label in labels.split(", "):
            assert (kind, label) in rows


def test_the_counter_of_fedada2_has_no_gap() -> None:
    """Numbers that are missing from the table above would leave a gap."""
    found = [int(n) for kind, labels in NUMBERED["fedada2"].items() if kind != "assumption" for n in _numbers(labels)]
    assert sorted(found) == list(range(1, 31))


def _numbers(labels: str) -> list[str]:
    return re.findall(r"\d+", labels)


def test_rows_and_claims_know_each_other() -> None:
    covered = set()
    for s in ledger.statements():
        assert s.claims, f"{s.paper} {s.label} has no claim"
        assert s.line > 0
        for id in s.claims:
            assert id in CLAIMS, f"{s.paper} {s.label}: {id}"
            assert CLAIMS[id].paper == s.paper
        covered |= set(s.claims)
    for id in set(CLAIMS) - covered:
        assert CLAIMS[id].source.place.startswith("ours"), f"{id} is in no row of statements.toml"


def test_labels_are_unique() -> None:
    counted = Counter((s.paper, s.label) for s in ledger.statements())
    assert [key for key, n in counted.items() if n > 1] == []


def test_a_claim_says_where_it_stands() -> None:
    for id, claim in CLAIMS.items():
        assert re.fullmatch(r"[a-z0-9-]+\.[a-z0-9-]+", id) and claim.paper in PAPERS, id
        assert claim.source.paper == PAPERS[claim.paper].title, id
        assert re.search(r"L\d+", claim.source.place) or claim.source.place.startswith(("ours", "external")), id
        assert claim.statement and not claim.statement.endswith("."), id
        assert claim.verdict is not Verdict.UNKNOWN, id
        if claim.repairs:
            assert CLAIMS[claim.repairs].verdict is Verdict.REFUTED, id
            assert claim.verdict in HOLDS, id


PARTS = (
    "afga.theorem-4-6 afga.corollary-4-7 afga.theorem-d-3 fed-lamb.corollary-1-repaired fed-lamb.theorem-1-repaired "
    "fednova.theorem-1-round fednova.theorem-2 client-centric.theorem-4-1-repaired"
)
"""Rows that bear a theorem's name and show part of it, read against the papers."""

SEVERE = {
    "fedada2.theorem-20": Severity.FALSE_RESULT,
    "fednova.eq-69": Severity.PROOF_BREAKS,
    "client-centric.delta-square": Severity.CONSTANT,
    "afga.eq-17-eps": Severity.SLIP,
}


def test_a_row_says_how_much_of_the_statement_it_shows() -> None:
    assert all(CLAIMS[id].extent is Extent.PART for id in PARTS.split())
    assert {id: CLAIMS[id].severity for id in SEVERE} == SEVERE
    for id, claim in CLAIMS.items():
        assert bool(claim.share) != (claim.verdict is Verdict.UNDECIDABLE), id


def test_what_is_corrected_is_not_counted_as_printed() -> None:
    """Most of them stand at the place that they correct, so that their source alone does not tell."""
    assert any(c.repairs and not c.source.place.startswith("ours") for c in CLAIMS.values())
    assert not [id for id, c in CLAIMS.items() if c.printed and (c.repairs or c.source.place.startswith("ours"))]


FALSE_AS_PRINTED = {
    "client-centric": ("Theorem 4.1",),
    "fed-lamb": ("Lemma 1", "Lemma 2", "Theorem 1"),
    "fedada2": ("Lemma 15", "Theorem 20", "Lemma 28"),
    "fednova": ("Theorem 1, eqs. (97)-(99)", "Corollary 3"),
    "afga": ("Lemma F.1", "Lemma F.5", "Lemma F.8"),
}


@pytest.mark.parametrize(("paper", "label"), [(p, label) for p, labels in FALSE_AS_PRINTED.items() for label in labels])
def test_false_statements_are_refuted_and_repaired(paper: str, label: str) -> None:
    (row,) = (s for s in ledger.statements() if (s.paper, s.label) == (paper, label))
    refuted = {id for id in row.claims if CLAIMS[id].verdict is Verdict.REFUTED}
    assert refuted
    assert any(c.repairs in refuted for c in CLAIMS.values())


def test_the_stored_ledger_is_current() -> None:
    assert list(STORED) == [*CLAIMS, *VARIANTS], stored.COMMAND.format("--all")
    for id, claim in {**CLAIMS, **VARIANTS}.items():
        assert STORED[id].verdict is claim.verdict, stored.COMMAND.format(id)
        sound(claim, STORED[id])


def test_importing_the_package_is_light() -> None:
    code = "import sys, fedspec_proofs; sys.exit(bool({'z3', 'sympy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


SAY_SIZES = ("fedada2", "client-centric", "fednova")
"""Papers whose every proved row was read for what it is confined to."""

SIZES = re.compile(r"\d+ expressions vanish identically; sizes: ((, )?[\w|]+ (=|<=) (\d+|[({][\d, /]*[)}]))+")


@pytest.mark.parametrize("paper", SAY_SIZES)
def test_an_identity_at_sizes_only_is_not_proved(paper: str) -> None:
    """Sizes in all labels of an expansion, as in m = 2, m = 3, mean that there is no general argument beside it."""
    for id, claim in CLAIMS.items():
        if claim.paper == paper and SIZES.fullmatch(STORED[id].evidence):
            assert claim.verdict is Verdict.PROVED_AT_SIZES, id
