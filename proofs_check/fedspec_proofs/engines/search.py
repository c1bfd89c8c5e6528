"""An adversary: it looks for the instance at which left side / right side of an inequality is largest.

It draws instances at random, climbs from the best of them by changing single choices, starts over, and lets
Hypothesis aim at the ratio as well. What breaks a claim is shrunk by Hypothesis to the smallest instance that still
does. Everything is counted, nothing is timed, and a run gives the same answer every time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeAlias, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st

from fedspec_proofs.claim import Dropped, Finding, Verdict
from fedspec_proofs.engines.choose import Choose, Tape
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.words import said, sized

P = TypeVar("P")

Sides: TypeAlias = tuple[Any, Any]
"""Left and right side of one inequality left <= right."""

RESTARTS = 12
"""How often climbing starts over."""

ROUNDING = 1e-9
"""How far beyond the right side a left side in floating point must be, relatively, to be a violation."""


@dataclass(frozen=True)
class Inequality(Generic[P]):
    """A claim left <= right about every instance that meets its assumptions.

    Attributes:
        instance: makes an instance; it should be able to leave every assumption, or dropping one shows nothing.
        assumptions: by the name that the claim gives them, whether an instance meets them.
        sides: left and right side of each inequality that is claimed of an instance; exact, or floating-point.
    """

    instance: Callable[[Choose], P]
    assumptions: Mapping[str, Callable[[P], bool]]
    sides: Callable[[P], Iterable[Sides]]

    def met(self, instance: P, but: Collection[str] = ()) -> bool:
        """Whether the instance meets the assumptions, except some, which it must break."""
        return all(holds(instance) != (name in but) for name, holds in self.assumptions.items())


@dataclass(frozen=True)
class Hunt(Generic[P]):
    """What a search saw.

    Attributes:
        tried: how many instances were made.
        met: how many of them met the assumptions.
        ratio: the largest left / right among those.
        worst: the instance with that ratio; None where none met the assumptions.
        sides: its two sides.
    """

    tried: int
    met: int
    ratio: float
    worst: P | None
    sides: Sides

    @property
    def violated(self) -> bool:
        """Whether the largest ratio breaks the claim."""
        return self.worst is not None and broken(self.sides)


def broken(sides: Sides) -> bool:
    """Whether left <= right fails, beyond rounding where the sides are floating-point numbers."""
    left, right = sides
    inexact = isinstance(left, float) or isinstance(right, float)
    return bool(left > right + ROUNDING * abs(right) + ROUNDING**2) if inexact else bool(left > right)


def _ratio(sides: Sides) -> float:
    left, right = sides
    if right > 0:
        return (
            float(left) / float(right) if isinstance(left, float) or isinstance(right, float) else float(left / right)
        )
    return float("inf") if broken(sides) else 0.0


def _worst(inequality: Inequality[P], instance: P) -> tuple[float, Sides]:
    """The tightest of its inequalities; one that is broken goes before one that is not."""
    found: tuple[bool, float, Sides] = (False, float("-inf"), (0, 1))
    for sides in inequality.sides(instance):
        found = max(found, (broken(sides), _ratio(sides), sides), key=lambda t: t[:2])
    return found[1], found[2]


def hunt(inequality: Inequality[P], tries: int, *, but: Collection[str] = ()) -> Hunt[P]:
    """Look for the largest ratio among ``tries`` instances, a quarter of them made by Hypothesis."""
    rng = generator()
    best: tuple[float, P | None, Sides] = (float("-inf"), None, (0, 1))
    counted = {"tried": 0, "met": 0}

    def look(instance: P) -> float | None:
        nonlocal best
        counted["tried"] += 1
        if not inequality.met(instance, but):
            return None
        counted["met"] += 1
        ratio, sides = _worst(inequality, instance)
        if best[1] is None or (broken(sides), ratio) > (broken(best[2]), best[0]):
            best = (ratio, instance, sides)
        return ratio

    share = max(1, tries * 3 // 4 // RESTARTS)
    for _ in range(RESTARTS):
        climbed: tuple[float, Tape] | None = None
        for k in range(share):
            earlier = climbed[1].varied() if climbed and k > share // 4 else ()
            tape = Tape(rng, earlier)
            ratio = look(inequality.instance(Choose(tape)))
            if ratio is not None and (climbed is None or ratio >= climbed[0]):
                climbed = (ratio, tape)

    def aimed(data: st.DataObject) -> None:
        ratio = look(_drawn(inequality, data))
        if ratio is not None and abs(ratio) < float("inf"):
            hypothesis.target(ratio)

    _hypothesis(aimed, tries // 4, (Phase.generate, Phase.target))
    return Hunt(counted["tried"], counted["met"], best[0], best[1], best[2])


def _drawn(inequality: Inequality[P], data: st.DataObject) -> P:
    return inequality.instance(Choose(lambda n: data.draw(st.integers(0, n - 1))))


def _hypothesis(body: Callable[[st.DataObject], None], examples: int, phases: tuple[Phase, ...]) -> None:
    settings = hypothesis.settings(
        max_examples=max(1, examples),
        deadline=None,
        database=None,
        derandomize=True,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )
    settings(hypothesis.given(st.data())(body))()


def smallest(inequality: Inequality[P], tries: int, *, but: Collection[str] = ()) -> tuple[P, Sides] | None:
    """The simplest instance that breaks the claim, meeting every assumption except some; None if none was found."""
    found: list[tuple[P, Sides]] = []

    def breaks(data: st.DataObject) -> None:
        instance = _drawn(inequality, data)
        if inequality.met(instance, but):
            ratio, sides = _worst(inequality, instance)
            if abs(ratio) < float("inf"):
                hypothesis.target(ratio)
            if broken(sides):
                found.append((instance, sides))
                raise _Broken

    try:
        _hypothesis(breaks, tries, (Phase.generate, Phase.target, Phase.shrink))
    except _Broken:
        # Hypothesis raises from the smallest, which it runs last.
        return found[-1]
    return None


class _Broken(Exception):
    """An instance breaks the claim."""


def _told(instance: Any, sides: Sides) -> str:
    left, right = (s if isinstance(s, float) else Fraction(s) for s in sides)
    return f"{said(instance)}: left side {sized(left)}, right side {sized(right)}"


def searched(inequality: Inequality[P], tries: int = 2000, *, drop: int | None = None, least: int = 100) -> Finding:
    """Checked with the count and the tightest ratio, or refuted with the smallest instance; every assumption dropped.

    Args:
        inequality: the claim.
        tries: how many instances are made.
        drop: how many for each dropped assumption; half as many if not given, none with 0.
        least: how many must meet the assumptions, or nothing was checked.
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
    tries = tries // 2 if drop is None else drop
    dropped = {name: without(inequality, name, tries) for name in inequality.assumptions} if tries else {}
    return Finding(Verdict.CHECKED, evidence, dropped)


def without(inequality: Inequality[P], name: str, tries: int) -> Dropped:
    """Look for an instance that breaks the claim, meeting every assumption but this one."""
    small = smallest(inequality, tries, but=(name,))
    if small is not None:
        return Dropped(True, _told(*small))
    seen = hunt(inequality, tries, but=(name,))
    if seen.violated:
        return Dropped(True, _told(seen.worst, seen.sides))
    largest = f"; largest left/right {seen.ratio:.4g}" if seen.met else ""
    return Dropped(False, f"no counterexample in {seen.met} instances that break only this one{largest}")
