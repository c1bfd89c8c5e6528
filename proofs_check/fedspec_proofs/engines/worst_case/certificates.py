"""Multipliers on disk, found once, and the finding that rests on them: checked with fractions, bound to the rules.

A certificate holds multipliers and nothing else. To check it the rules are run again on linear forms: if one changes,
so do the coefficients, and the multipliers prove nothing any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from fedspec.errors import FedspecError
from fedspec_proofs.claim import Dropped, Finding, Verdict
from fedspec_proofs.engines.worst_case.proof import Problem, flaw

PATH = Path(__file__).with_name("certificates.json")

RENEW = "fedspec claims certify {}"
"""What finds certificates again; needs the extra ``certify``."""

Cases = Mapping[str, Callable[[], Problem]]
"""What is to be certified, by its sizes in words."""

CERTIFIED: dict[str, Cases] = {}
"""Every claim that rests on certificates, by its id; filled as the ledger is imported."""


@cache
def _stored() -> dict[str, dict[str, dict[str, str]]]:
    body: dict[str, dict[str, dict[str, str]]] = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    return body


def multipliers(id: str, case: str) -> dict[str, Fraction]:
    """The stored multipliers of one case.

    Raises:
        FedspecError: there are none.
    """
    try:
        return {name: Fraction(c) for name, c in _stored()[id][case].items()}
    except KeyError:
        raise FedspecError(f"certificates: none for {case!r} of {id}; {RENEW.format(id)}") from None


def save(found: Mapping[str, Mapping[str, Mapping[str, Fraction]]]) -> None:
    """Write the certificates of some claims; those of others stay."""
    body: dict[str, Any] = {**_stored(), **{id: {c: _said(m) for c, m in cases.items()} for id, cases in found.items()}}
    lines = [
        f"{json.dumps(id)}: {{\n"
        + ",\n".join(f"  {json.dumps(case)}: {json.dumps(m)}" for case, m in body[id].items())
        + "\n}"
        for id in sorted(body)
        if id in CERTIFIED
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    _stored.cache_clear()


def _said(multipliers: Mapping[str, Fraction]) -> dict[str, str]:
    return {name: str(c) for name, c in multipliers.items()}


def certified(id: str, cases: Cases, without: Callable[[], Mapping[str, Dropped]]) -> Callable[[], Finding]:
    """What becomes of a claim whose cases have certificates: certified if every one of them still proves its case.

    Args:
        id: the claim.
        cases: what is claimed, by its sizes.
        without: what happens without each assumption.
    """
    CERTIFIED[id] = cases

    def found() -> Finding:
        told, largest = [], 0
        for case, make in cases.items():
            problem, proof = make(), multipliers(id, case)
            wrong = flaw(problem, proof)
            if wrong:
                return Finding(
                    Verdict.UNKNOWN, f"the certificate for {case} proves nothing: {wrong}; {RENEW.format(id)}"
                )
            told.append(f"{case}: {len(proof)} of {len(problem.given)} inequalities, order {len(problem.basis)}")
            largest = max(largest, *(c.denominator for c in proof.values()))
        words = f"{len(cases)} certificates check in fractions, denominators up to {largest}\n" + "\n".join(told)
        return Finding(Verdict.CERTIFIED, words, without())

    return found
