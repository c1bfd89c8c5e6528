"""An adversary: it looks for the instance at which left side / right side of an inequality is largest.

It draws instances at random, climbs from the best of them by changing single choices, starts over, and lets
Hypothesis aim at the ratio as well. What breaks a claim is shrunk by Hypothesis to the smallest instance that still
does. Everything is counted, nothing is timed, and a run gives the same answer every time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Generic, TypeAlias, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st

from fedspec_proofs.claim import CLOSE, Dropped, Finding, Sharpness, Verdict
from fedspec_proofs.engines.choose import Choose, Tape
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.words import said, sized

P = TypeVar("P")

Sides: TypeAlias = tuple[Any, Any]
"""Left and right side of one inequality left <= right. The right side may be a mapping, from the names of its terms to
their values: it is their sum. Each of several terms is left out in turn, and the whole is halved, to see whether the
search notices; inequalities with the same names are judged as one."""

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
        spoiled: the sides with a part of the bound spoiled that is no term of its sum (a constant, a factor), by the
            name of the part; the search must find a violation of each.
    """

    instance: Callable[[Choose], P]
    assumptions: Mapping[str, Callable[[P], bool]]
    sides: Callable[[P], Iterable[Sides]]
    spoiled: Mapping[str, Callable[[P], Iterable[Sides]]] = field(default_factory=dict)

    def met(self, instance: P, but: Collection[str] = ()) -> bool:
        """Whether the instance meets the assumptions, except some, which it must break."""
        return all(holds(instance) != (name in but) for name, holds in self.assumptions.items())

    def summed(self, instance: P) -> Iterator[tuple[Any, Any]]:
        """Left and right side of each inequality, as two numbers."""
        return ((left, total(right)) for left, right in self.sides(instance))


@dataclass(frozen=True)
class Hunt(Generic[P]):
    """What a search saw.

    Attributes:
        tried: how many instances were made.
        met: how many of them met the assumptions.
        ratio: the largest left / right among those.
        worst: the instance with that ratio; None where none met the assumptions.
        sides: its two sides.
        noticed: for each way to weaken the right side, by name, whether some instance breaks the claim then.
    """

    tried: int
    met: int
    ratio: float
    worst: P | None
    sides: Sides
    noticed: Mapping[str, bool]

    @property
    def violated(self) -> bool:
        """Whether the largest ratio breaks the claim."""
        return self.worst is not None and broken(self.sides)


def total(right: Any) -> Any:
    """A right side as one number: the sum of its terms."""
    return sum(right.values()) if isinstance(right, Mapping) else right


def broken(sides: Sides) -> bool:
    """Whether left <= right fails, beyond rounding where the sides are floating-point numbers."""
    left, right = sides[0], total(sides[1])
    inexact = isinstance(left, float) or isinstance(right, float)
    return bool(left > right + ROUNDING * abs(right) + ROUNDING**2) if inexact else bool(left > right)


def equal(left: Any, right: Any) -> tuple[Sides, Sides]:
    """The sides of an equality: each is at most the other, so that the ratio is 1 unless both are 0."""
    return (left, right), (right, left)


def _ratio(sides: Sides) -> float:
    """left/right; right/left where both are negative: 1 at equality, less the farther from it."""
    left, right = sides
    if broken(sides) and right <= 0:
        return float("inf")
    if left < 0 and right < 0:
        left, right = -right, -left
    if right <= 0:
        return 0.0
    inexact = isinstance(left, float) or isinstance(right, float)
    return float(left) / float(right) if inexact else float(left / right)


HALF = "half of it"


def weaker(right: Any) -> dict[str, Any]:
    """The right side with less on it, by what is lacking: each of its terms, half of the whole.

    What is negative counts twice instead, since the claim is weaker without it.
    """
    whole = total(right)
    if not isinstance(right, Mapping):
        return {HALF: whole - abs(whole) / 2}
    out = {name: whole - abs(term) for name, term in right.items()} if len(right) > 1 else {}
    return {**out, f"{HALF}: {' + '.join(right)}": whole - abs(whole) / 2}


def _worst(inequality: Inequality[P], instance: P) -> tuple[float, Sides, Mapping[str, bool]]:
    """The tightest of its inequalities, one that is broken before one that is not; what is missed."""
    found: tuple[bool, float, Sides] = (False, float("-inf"), (0, 1))
    noticed: dict[str, bool] = {}
    for left, right in inequality.sides(instance):
        sides = (left, total(right))
        found = max(found, (broken(sides), _ratio(sides), sides), key=lambda t: t[:2])
        for name, less in weaker(right).items():
            noticed[name] = noticed.get(name, False) or broken((left, less))
    return found[1], found[2], noticed


def hunt(inequality: Inequality[P], tries: int, *, but: Collection[str] = ()) -> Hunt[P]:
    """Look for the largest ratio among ``tries`` instances, a quarter of them made by Hypothesis."""
    rng = generator()
    best: tuple[float, P | None, Sides] = (float("-inf"), None, (0, 1))
    counted = {"tried": 0, "met": 0}
    noticed: dict[str, bool] = {}

    def look(instance: P) -> float | None:
        nonlocal best
        counted["tried"] += 1
        if not inequality.met(instance, but):
            return None
        counted["met"] += 1
        ratio, sides, missed = _worst(inequality, instance)
        noticed.update({name: noticed.get(name, False) or miss for name, miss in missed.items()})
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
    return Hunt(counted["tried"], counted["met"], best[0], best[1], best[2], noticed)


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
            ratio, sides, _ = _worst(inequality, instance)
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


def sharpness(inequality: Inequality[P], seen: Hunt[P], tries: int) -> Sharpness:
    """How near a hunt came to the bound, and which parts of it are noticed when they are missing.

    Each part that no instance of the hunt missed is looked for by a hunt of its own, where the bound was come near to
    at all.
    """
    noticed = dict(seen.noticed)
    if seen.worst is not None and seen.ratio >= CLOSE:

        def lacking(name: str) -> Callable[[P], Iterable[Sides]]:
            return lambda one: [(left, weaker(right).get(name, total(right))) for left, right in inequality.sides(one)]

        for name in (*noticed, *inequality.spoiled):
            if not noticed.get(name):
                less = replace(inequality, sides=inequality.spoiled.get(name) or lacking(name))
                noticed[name] = broken(_worst(less, seen.worst)[1]) or hunt(less, tries).violated
    halves = [name for name in noticed if name.startswith(HALF)]
    if len(halves) == 1:
        noticed[HALF] = noticed.pop(halves[0])
    return Sharpness(seen.ratio, noticed)


def searched(inequality: Inequality[P], tries: int = 2000, *, drop: int | None = None, least: int = 100) -> Finding:
    """Checked with the count and the tightest ratio, or refuted with the smallest instance; every assumption dropped.

    A search that is not sharp comes out of its claim as not contradicted.

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
    drop = tries // 2 if drop is None else drop
    dropped = {name: without(inequality, name, drop) for name in inequality.assumptions} if drop else {}
    return Finding(Verdict.CHECKED, evidence, dropped, sharpness=sharpness(inequality, seen, tries))


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
