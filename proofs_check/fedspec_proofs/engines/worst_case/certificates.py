"""Multipliers on disk, found once, and the finding that rests on them: checked with fractions, bound to the rules.

A certificate holds multipliers and nothing that the check believes. To check it the rules are run on linear forms
again, as they stand: what a changed rule makes false no multipliers prove.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from fedspec.errors import FedspecError
from fedspec_proofs.claim import Dropped, Finding, Sharpness, Verdict
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.rates import RATE, flaw_between

PATH = Path(__file__).with_name("certificates.json")

RENEW = "fedspec claims certify {}"
"""What finds certificates again; needs the extra ``certify``."""


@dataclass(frozen=True)
class Case:
    """What is to be certified, at every rate of an interval.

    Attributes:
        make: the claim at a rate: a fraction, or :data:`~fedspec_proofs.engines.worst_case.rates.RATE`.
        low: the smallest rate.
        high: the largest.
    """

    make: Callable[[Any], Problem]
    low: Fraction
    high: Fraction


Cases = Mapping[str, Case]
"""By their sizes in words."""

CERTIFIED: dict[str, Cases] = {}
"""Every claim that rests on certificates, by its id; filled as the ledger is imported."""


@dataclass(frozen=True)
class Certificate:
    """What proves one case.

    Attributes:
        multipliers: at some rates, from the smallest to the largest, those of the inequalities that are taken.
        ratio: the worst case over the constant on the right side at the largest rate, by the program, in floating
            point; -1 where the right side has none.
    """

    multipliers: Mapping[Fraction, Mapping[str, Fraction]]
    ratio: float = -1


@cache
def _stored() -> dict[str, dict[str, Any]]:
    body: dict[str, dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    return body


def load(id: str, case: str) -> Certificate:
    """The stored certificate of one case.

    Raises:
        FedspecError: the case has no stored certificate.
    """
    try:
        row = _stored()[id][case]
        at = {Fraction(rate): {n: Fraction(c) for n, c in m.items()} for rate, m in row["multipliers"].items()}
        return Certificate(at, row["ratio"])
    except KeyError:
        raise FedspecError(f"certificates: none for {case!r} of {id}; {RENEW.format(id)}") from None


def save(found: Mapping[str, Mapping[str, Certificate]]) -> None:
    """Write the certificates of some claims; those of others stay."""
    body = {**_stored(), **{id: {case: _row(c) for case, c in cases.items()} for id, cases in found.items()}}
    lines = [
        f"{json.dumps(id)}: {{\n"
        + ",\n".join(f"  {json.dumps(case)}: {json.dumps(row)}" for case, row in body[id].items())
        + "\n}"
        for id in sorted(body)
        if id in CERTIFIED
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    _stored.cache_clear()


def _row(c: Certificate) -> dict[str, Any]:
    at = {str(rate): {name: str(m) for name, m in proof.items()} for rate, proof in c.multipliers.items()}
    return {"ratio": c.ratio, "multipliers": at}


def fault(case: Case, certificate: Certificate) -> str:
    """Why a certificate does not prove its case; empty where it does."""
    rates = list(certificate.multipliers)
    if (rates[0], rates[-1]) != (case.low, case.high) or rates != sorted(rates):
        return f"it is about the rates {rates[0]} to {rates[-1]}"
    open_ = case.make(RATE) if len(rates) > 1 else None
    return flaw_between(open_, [(r, case.make(r), certificate.multipliers[r]) for r in rates])


def certified(id: str, cases: Cases, without: Callable[[], Mapping[str, Dropped]]) -> Callable[[], Finding]:
    """What becomes of a claim whose cases have certificates: certified if every one of them still proves its case.

    Args:
        id: the claim.
        cases: what is claimed, by its sizes.
        without: what happens without each assumption.
    """
    CERTIFIED[id] = cases

    def found() -> Finding:
        told, largest, ratio = [], 0, -1.0
        for name, case in cases.items():
            certificate = load(id, name)
            wrong = fault(case, certificate)
            if wrong:
                return Finding(
                    Verdict.UNKNOWN, f"the certificate for {name} proves nothing: {wrong}; {RENEW.format(id)}"
                )
            proofs, problem = certificate.multipliers.values(), case.make(case.high)
            needs = f"; worst case over the right side {certificate.ratio:.3g}" if certificate.ratio >= 0 else ""
            told.append(
                f"{name}: {len(problem.given)} inequalities, order {len(problem.basis)}, {len(proofs)} rates{needs}"
            )
            largest = max(largest, *(c.denominator for proof in proofs for c in proof.values()))
            ratio = max(ratio, certificate.ratio)
        words = f"{len(cases)} certificates check in fractions, denominators up to {largest}\n" + "\n".join(told)
        sharpness = Sharpness(ratio) if ratio >= 0 else None
        return Finding(Verdict.CERTIFIED, words, without(), sharpness=sharpness)

    return found
