"""Engines that let anything pass are noticed by the ledger's own run: a control comes out otherwise than it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fedspec_proofs import ledger
from fedspec_proofs.chain import run_evidence
from fedspec_proofs.claim import Verdict
from fedspec_proofs.engines.worst_case import certificates, proof, rates
from fedspec_proofs.engines.worst_case.classes import Class
from fedspec_proofs.fednova.claims import certificate_controls, noisy_round

pytestmark = pytest.mark.long

CONTROLS = tuple(id for id in ledger.variants() if id.startswith("fednova.certificate-"))
CERTIFIED = "fednova.eq-91-fedprox"


def stands(id: str) -> bool:
    one = ledger.find(id)
    return run_evidence(one).verdict is one.verdict


def test_the_controls_stand_as_long_as_nothing_is_spoiled() -> None:
    assert len(CONTROLS) == 6 and all(map(stands, (*CONTROLS, CERTIFIED)))


def everywhere(monkeypatch: pytest.MonkeyPatch, name: str, other: Any) -> None:
    """Another function under a name, wherever the engine or a control imported it."""
    for module in (proof, rates, certificates, certificate_controls):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, other)


def diagonal(R: list[list[Fraction]]) -> bool:
    """LDL^T without its update: the pivots are the diagonal as it was."""
    return all(R[k][k] >= 0 and (R[k][k] or not any(R[k])) for k in range(len(R)))


def any_sign(problem: Any, multipliers: Any) -> str:
    """Without the look at the signs."""
    unknown = [name for name in multipliers if name not in problem.given]
    return f"there is no inequality {unknown[0]!r}" if unknown else ""


def twice(of: Callable[..., Any]) -> Callable[..., Any]:
    """The inequality of a class, what it has of gradients twice as strong."""

    def doubled(self: Class, i: Any, j: Any) -> Any:
        plain, wide = of(self, i, j), of(Class(self.low, self.high + 1), i, j)
        # They differ in what the square of gradients is divided by.
        return plain + (plain - wide) * (self.high + 1 - self.low)

    return doubled


SPOILS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "semidefinite always says yes": lambda m: everywhere(m, "semidefinite", lambda R: True),
    "LDL^T without its update": lambda m: everywhere(m, "semidefinite", diagonal),
    "negative multipliers": lambda m: everywhere(m, "ill_formed", any_sign),
    "any multipliers": lambda m: everywhere(m, "flaw", lambda *_: ""),
    "any multipliers along an interval": lambda m: everywhere(m, "flaw_between", lambda *_: ""),
    "an inequality twice as strong": lambda m: m.setattr(Class, "__call__", twice(Class.__call__)),
}


@pytest.mark.table(1)
@pytest.mark.parametrize("spoil", SPOILS.values(), ids=[words.replace(" ", "-") for words in SPOILS])
def test_a_check_that_is_too_weak_is_noticed(
    monkeypatch: pytest.MonkeyPatch, spoil: Callable[[pytest.MonkeyPatch], None]
) -> None:
    spoil(monkeypatch)
    assert not all(map(stands, CONTROLS))


def test_stronger_assumptions_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """kappa^2 = 1/2 where 1 is said: the certificates prove as much, of fewer clients."""
    real = noisy_round.problem_of

    def problem_of(*of: Any) -> Any:
        made = real(*of)
        return replace(made, given={**made.given, "dissimilar": made.given["dissimilar"] + Fraction(1, 2)})

    monkeypatch.setattr(noisy_round, "problem_of", problem_of)
    assert not stands("fednova.certificate-assumptions")


def test_a_certified_claim_notices_a_blind_check_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere(monkeypatch, "semidefinite", lambda R: True)
    found = run_evidence(ledger.find(CERTIFIED))
    assert found.verdict is Verdict.UNKNOWN and "the check is blind: 10^6 |g|^2 more" in found.evidence
