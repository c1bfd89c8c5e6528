"""Combinations of findings: a statement refuted in several ways, or proved in parts, or ablated at given instances."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from fedspec_proofs.claim import Dropped, Finding, Second, Verdict
from fedspec_proofs.engines.search import Inequality, broken, searched, without
from fedspec_proofs.words import short

P = TypeVar("P")

LONGEST = 800
"""Length of a line of evidence above which its middle is cut: an instance may have fifty clients."""


def all_refuted(*findings: Finding) -> Finding:
    """Refuted if every finding is refuted; else unknown."""
    refuted = all(f.verdict is Verdict.REFUTED for f in findings)
    lines = [line for f in findings for line in f.evidence.splitlines()]
    short = [line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}" for line in lines]
    return Finding(Verdict.REFUTED if refuted else Verdict.UNKNOWN, "\n".join(short))


def all_proved(parts: Mapping[str, Finding], assumptions: Collection[str] | None = None) -> Finding:
    """Proved if every part is proved, refuted if one part is; an assumption matters if it matters to any part.

    Args:
        parts: description and finding of each part.
        assumptions: assumptions whose dropping is reported, by default all; the remaining assumptions are steps of the
            proof, such as the hypothesis of an induction.
    """
    words = "\n".join(f"{label}: {found.evidence}" for label, found in parts.items())
    verdicts = {found.verdict for found in parts.values()}
    if verdicts != {Verdict.PROVED}:
        return Finding(Verdict.REFUTED if Verdict.REFUTED in verdicts else Verdict.UNKNOWN, words)
    dropped: dict[str, Dropped] = {}
    for found in parts.values():
        for name, one in found.dropped.items():
            if (assumptions is None or name in assumptions) and (name not in dropped or one.matters):
                dropped[name] = one
    seconds = [found.second for found in parts.values() if found.second]
    whole = Second(seconds[0].engine, sum(s.instances for s in seconds), seconds[0].words) if seconds else None
    return Finding(Verdict.PROVED, words, dropped, whole)


def by_hand(inequality: Inequality[P], name: str, words: str, instance: P) -> Dropped:
    """Outcome of dropping an assumption at an instance that must violate it alone and break the claim."""
    for left, right in inequality.summed(instance) if inequality.met(instance, but=(name,)) else ():
        if broken((left, right)):
            return Dropped(True, f"{words}: left side {short(left)}, right side {short(right)}")
    return Dropped(False, f"the instance built for it shows nothing: {words}")


def with_instances(inequality: Inequality[P], tries: int, known: Mapping[str, tuple[str, P]], *, drop: int) -> Finding:
    """Run :func:`searched`, with given instances for assumptions whose violation a search would hardly find."""
    found = searched(inequality, tries, drop=0)
    if found.verdict is not Verdict.CHECKED:
        return found
    dropped = {}
    for name in inequality.assumptions:
        shown = by_hand(inequality, name, *known[name]) if name in known else None
        dropped[name] = shown if shown and shown.matters else without(inequality, name, drop)
    return replace(found, dropped=dropped)
