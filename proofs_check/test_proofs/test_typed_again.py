"""Refuted theorems and lemmas have their printed right side twice: once from shared code, once from the numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedspec_proofs import ledger, stored
from fedspec_proofs.chain import run_evidence
from fedspec_proofs.claim import Severity, Verdict
from fedspec_proofs.client_centric.claims import theorem as client_centric
from fedspec_proofs.fed_lamb.kit import bounds as fed_lamb
from fedspec_proofs.fedada2.claims import theorem_20
from fedspec_proofs.fedada2.kit import three_clients
from fedspec_proofs.fednova.claims import theorem_1_fedprox

pytestmark = pytest.mark.long

ROOT = Path(ledger.__file__).parent

NO_RIGHT_SIDE = {
    "fedada2.corollary-23": "the right side is a limit, 0",
    "fedada2.corollary-24": "the right side is a limit, 0",
    "fedada2.theorem-25-sgd": "an equality of a rule and its form",
    "fedada2.theorem-25-adagrad": "an equality of a rule and its form",
    "fedada2.theorem-25-adam": "an equality of a rule and its form",
    "client-centric.corollary-4-1-1": "an order: the quotient grows along a family",
    "fednova.only-two-cases": "words of a discussion",
    "fednova.corollary-3": "an order: the quotient grows along a family",
    "fednova.algorithm-2": "an equality of two lines",
}
"""Refuted results without a printed number to type, and why."""


def test_every_false_result_has_it() -> None:
    for id, claim in ledger.claims().items():
        if claim.severity is Severity.FALSE_RESULT:
            typed = "the right side, typed a second time" in stored.load()[id].evidence
            assert typed is (id not in NO_RIGHT_SIDE), id


def test_a_refutation_decides_every_printed_condition() -> None:
    """A line for each assumption at least; the words of the two differ."""
    for id, claim in ledger.claims().items():
        if claim.severity:
            met = re.findall(r"^met: ", stored.load()[id].evidence, re.M)
            assert len(met) >= max(1, len(claim.assumptions)), id


TYPED = {"F", "Fraction", "rational", "ONE", "max", "min", "abs", "bool", "len", "all", "any", "sum", "range"}
"""Names that do not say that anything was computed."""


@pytest.mark.slow
def test_no_condition_is_decided_by_hand() -> None:
    """Conditions must depend on the run, not on numbers typed beside each other."""
    for path in sorted(ROOT.rglob("*.py")):
        for made in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for value in made.values if isinstance(made, ast.Dict) else []:
                if isinstance(value, ast.Compare):
                    names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
                    assert names - TYPED, f"{path.name}:{value.lineno}: {ast.unparse(value)}"


def larger(real: Callable[..., Any]) -> Callable[..., Any]:
    """A right side by a thousandth of itself, which leaves every left side above it."""

    def changed(*of: Any, **named: Any) -> Any:
        return real(*of, **named) * 1001 / 1000

    return changed


@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("module", "name", "id"),
    [
        (theorem_20, "printed_right", "fedada2.theorem-20"),
        (theorem_20, "printed_right", "fedada2.theorem-20-moving"),
        (three_clients, "right", "fedada2.theorem-25"),
        (three_clients, "right", "fedada2.corollary-27"),
        (three_clients, "right", "fedada2.corollary-29"),
        (fed_lamb, "initial", "fed-lamb.theorem-1"),
        (fed_lamb, "initial", "fed-lamb.theorem-1-appendix"),
        (fed_lamb, "lemma_1", "fed-lamb.lemma-1"),
        (client_centric, "printed", "client-centric.theorem-4-1"),
        (theorem_1_fedprox, "theorem_1", "fednova.theorem-1-fedprox"),
    ],
)
def test_a_right_side_that_is_another_refutes_nothing(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, id: str
) -> None:
    monkeypatch.setattr(module, name, larger(getattr(module, name)))
    assert run_evidence(ledger.find(id)).verdict is Verdict.UNKNOWN


def test_a_right_side_of_nought_is_nought() -> None:
    assert all("typed a second time, is 0" in stored.load()[f"afga.lemma-f-{n}"].evidence for n in (1, 5))
