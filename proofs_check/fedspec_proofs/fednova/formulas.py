"""Conjunctions: of formulas that are z3's for variables and truth values for fractions, and of findings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import z3

from fedspec_proofs.claim import Finding, Second, Verdict


def every(*formulas: Any) -> Any:
    """All of them, as one formula or one truth value."""
    return z3.And(*formulas) if any(isinstance(f, z3.ExprRef) for f in formulas) else all(formulas)


def all_proved(parts: Mapping[str, Finding], assumptions: Collection[str]) -> Finding:
    """Proved if each part is, a refuted part refutes; an assumption matters if some part says so.

    Args:
        parts: what each shows, in words, and what came out.
        assumptions: what is told about dropping; the others are steps of the proof, such as an induction's hypothesis.
    """
    words = "\n".join(f"{label}: {found.evidence}" for label, found in parts.items())
    verdicts = {found.verdict for found in parts.values()}
    if verdicts != {Verdict.PROVED}:
        return Finding(Verdict.REFUTED if Verdict.REFUTED in verdicts else Verdict.UNKNOWN, words)
    dropped = {}
    for found in parts.values():
        for name, one in found.dropped.items():
            if name in assumptions and (name not in dropped or one.matters):
                dropped[name] = one
    seconds = [found.second for found in parts.values() if found.second]
    whole = Second(seconds[0].engine, sum(s.instances for s in seconds), seconds[0].words) if seconds else None
    return Finding(Verdict.PROVED, words, dropped, whole)
