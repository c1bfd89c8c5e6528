"""Multipliers on disk, found once, and the finding that rests on them: checked with fractions, bound to the rules.

A certificate holds multipliers and nothing else. To check it the rules are run again on linear forms: if one changes,
so do the coefficients, and the multipliers prove nothing any more.
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
from fedspec_proofs.engines.worst_case.proof import Problem, flaw

PATH = Path(__file__).with_name("certificates.json")

RENEW = "fedspec claims certify {}"
"""What finds certificates again; needs the extra ``certify``."""

Cases = Mapping[str, Callable[[], Problem]]
"""What is to be certified, by its sizes in words."""

CERTIFIED: dict[str, Cases] = {}
"""Every claim that rests on certificates, by its id; filled as the ledger is imported."""


@dataclass(frozen=True)
class Certificate:
    """What proves one case.

    Attributes:
        multipliers: of the inequalities that it takes, by name.
        ratio: the worst case over the constant on the right side, by the program, in floating point; -1 where the right
            side has none.
    """

    multipliers: Mapping[str, Fraction]
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
        return Certificate({name: Fraction(c) for name, c in row["multipliers"].items()}, row["ratio"])
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
    return {"ratio": c.ratio, "multipliers": {name: str(m) for name, m in c.multipliers.items()}}


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
        for case, make in cases.items():
            problem, stored = make(), load(id, case)
            proof = stored.multipliers
            wrong = flaw(problem, proof)
            if wrong:
                return Finding(
                    Verdict.UNKNOWN, f"the certificate for {case} proves nothing: {wrong}; {RENEW.format(id)}"
                )
            needs = f"; worst case over the right side {stored.ratio:.3g}" if stored.ratio >= 0 else ""
            told.append(f"{case}: {len(proof)} of {len(problem.given)} inequalities, order {len(problem.basis)}{needs}")
            largest, ratio = max(largest, *(c.denominator for c in proof.values())), max(ratio, stored.ratio)
        words = f"{len(cases)} certificates check in fractions, denominators up to {largest}\n" + "\n".join(told)
        sharpness = Sharpness(ratio) if ratio >= 0 else None
        return Finding(Verdict.CERTIFIED, words, without(), sharpness=sharpness)

    return found
