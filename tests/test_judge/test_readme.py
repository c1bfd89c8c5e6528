"""The numbers and pages that the README gives are those of today, and what the design names is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from fedspec_proofs import ledger
from fedspec_proofs.claim import Engine, Verdict
from fedspec_suite.laws.reductions import EDGES
from fedspec_suite.mutants import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
README = " ".join(TEXT.split())


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


def test_the_design_names_modules_and_extras_that_are_there() -> None:
    modules = set(re.findall(r"\b(\w+(?:/\w+)*\.py)\b", DESIGN))
    there = [str(path) for path in ROOT.rglob("*.py") if ".venv" not in path.parts]
    assert len(modules) > 20 and not [m for m in modules if not any(p.endswith(f"/{m}") for p in there)]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert not [extra for extra in extras if f"[{extra}]`" not in DESIGN]
