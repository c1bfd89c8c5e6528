"""Search as an engine: tests a claim left <= right at the worst instance found, and again with parts dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from fedspec_proofs.claim import CLOSE, Dropped, Finding, Sharpness, Verdict
from fedspec_proofs.engines.hunting import Hunt, hunt, smallest
from fedspec_proofs.engines.inequality import HALF, Inequality, Sides, broken, total, weaker, worst
from fedspec_proofs.words import as_text, short

__all__ = ["HALF", "Inequality", "Sides", "broken", "hunt", "searched", "smallest", "total", "without"]

P = TypeVar("P")


def _told(instance: Any, sides: Sides) -> str:
    left, right = (s if isinstance(s, float) else Fraction(s) for s in sides)
    return f"{as_text(instance)}: left side {short(left)}, right side {short(right)}"


def sharpness(inequality: Inequality[P], seen: Hunt[P], tries: int) -> Sharpness:
    """Sharpness of a search: the largest ratio, and which parts of the bound it notices when they are missing.

    If the hunt came near to the bound, each part that none of its instances noticed gets a hunt of its own.
    """
    noticed = dict(seen.noticed)
    if seen.worst is not None and seen.ratio >= CLOSE:

        def lacking(name: str) -> Callable[[P], Iterable[Sides]]:
            return lambda one: [(left, weaker(right).get(name, total(right))) for left, right in inequality.sides(one)]

        for name in (*noticed, *inequality.spoiled):
            if not noticed.get(name):
                less = replace(inequality, sides=inequality.spoiled.get(name) or lacking(name))
                noticed[name] = broken(worst(less, seen.worst)[1]) or hunt(less, tries, less=name).violated
    halves = [name for name in noticed if name.startswith(HALF)]
    if len(halves) == 1:
        noticed[HALF] = noticed.pop(halves[0])
    return Sharpness(seen.ratio, noticed)


def searched(inequality: Inequality[P], tries: int = 2000, *, drop: int | None = None, least: int = 100) -> Finding:
    """Search for a violation: checked, with count and tightest ratio, or refuted; then drop each assumption.

    A search that is not sharp comes out of its claim as not contradicted.

    Args:
        inequality: the claim to search.
        tries: number of instances.
        drop: number of instances for each dropped assumption; by default half of ``tries``; 0: assumptions aren't
            dropped.
        least: number of instances that must meet the assumptions; with fewer, the verdict is that nothing was checked.
    """
    seen = hunt(inequality, tries)
    if seen.violated:
        small = smallest(inequality, tries)
        instance, sides = small or (seen.worst, seen.sides)
        inexact = "" if not any(isinstance(s, float) for s in sides) else ", in floating point"
        return Finding(Verdict.REFUTED, f"{_told(instance, sides)}; every assumption is met{inexact}")
    count = f"{seen.met} instances that meet the assumptions, of {seen.tried} made"
    if seen.met < least or seen.worst is None:
        return Finding(Verdict.UNKNOWN, f"only {count}")
    evidence = f"no violation in {count}; largest left/right {seen.ratio:.4g}, at {_told(seen.worst, seen.sides)}"
    drop = tries // 2 if drop is None else drop
    dropped = {name: without(inequality, name, drop) for name in inequality.assumptions} if drop else {}
    return Finding(Verdict.CHECKED, evidence, dropped, sharpness=sharpness(inequality, seen, tries))


def without(inequality: Inequality[P], name: str, tries: int) -> Dropped:
    """Search for a counterexample that violates this assumption and meets every other one."""
    small = smallest(inequality, tries, but=(name,))
    if small is not None:
        return Dropped(True, _told(*small))
    seen = hunt(inequality, tries, but=(name,))
    if seen.violated:
        return Dropped(True, _told(seen.worst, seen.sides))
    largest = f"; largest left/right {seen.ratio:.4g}" if seen.met else ""
    return Dropped(False, f"no counterexample in {seen.met} instances that break only this one{largest}")
