"""The numbers that the README gives are those of today."""

from __future__ import annotations

from pathlib import Path

from fedspec_proofs import ledger
from fedspec_proofs.claim import Engine, Verdict
from fedspec_suite.laws.reductions import EDGES
from fedspec_suite.mutants import MUTANTS

README = " ".join((Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8").split())


def test_edges_and_mutants() -> None:
    assert f"Each of the {len(EDGES)} edges" in README
    assert f"edit of a rule's text: {len(MUTANTS)} of them" in README


def test_the_ledger() -> None:
    claims = ledger.claims().values()
    refuted = [c for c in claims if c.printed and c.verdict is Verdict.REFUTED]
    assert Engine.SEARCH not in {c.engine for c in refuted}
    assert f"{len(ledger.statements())} rows, {len(claims)} claims" in README
    assert f"{len(refuted)} printed statements and steps of proofs come out" in README
    assert "all of them exactly" in README
    assert f"{len(ledger.variants())} false variants" in README
