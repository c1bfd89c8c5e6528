"""An adversary: it looks for the instance at which left side / right side of an inequality is largest.

It draws instances at random, climbs from the best of them by changing single choices, starts over, and lets
Hypothesis aim at the ratio as well. What breaks a claim is shrunk by Hypothesis to the smallest instance that still
does. Everything is counted, nothing is timed, and a run gives the same answer every time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st

from fedspec_proofs.claim import CLOSE, Dropped, Finding, Sharpness, Verdict
from fedspec_proofs.engines import witnesses
from fedspec_proofs.engines.choose import Choose, Pick, Tape
from fedspec_proofs.engines.exact import SEED, generator
from fedspec_proofs.engines.inequality import HALF, ROUNDING, Inequality, Sides, broken, equal, total, weaker, worst
from fedspec_proofs.words import said, sized

__all__ = [
    "HALF",
    "ROUNDING",
    "Hunt",
    "Inequality",
    "Sides",
    "broken",
    "equal",
    "hunt",
    "searched",
    "smallest",
    "total",
    "without",
]

P = TypeVar("P")

RESTARTS = 12
"""How often climbing starts over."""


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


class _Looks(Generic[P]):
    """The instances that a search looks at, and what it saw of them."""

    def __init__(self, inequality: Inequality[P], but: Collection[str]) -> None:
        self.inequality, self.but = inequality, but
        self.tried = self.met = 0
        self.best: tuple[float, P | None, Sides] = (float("-inf"), None, (0, 1))
        self.noticed: dict[str, bool] = {}
        self.choices: dict[str, list[int]] = {}

    def look(self, pick: Pick) -> float | None:
        """The ratio at the instance that is picked; None where it does not meet the assumptions."""
        instance, made = _made(self.inequality, pick)
        self.tried += 1
        if not self.inequality.met(instance, self.but):
            return None
        self.met += 1
        ratio, sides, missed = worst(self.inequality, instance)
        for name, miss in missed.items():
            if miss and not self.noticed.get(name):
                self.choices[name] = made
            self.noticed[name] = self.noticed.get(name, False) or miss
        if self.best[1] is None or (broken(sides), ratio) > (broken(self.best[2]), self.best[0]):
            self.best, self.choices[""] = (ratio, instance, sides), made
        return ratio

    def hunt(self, tries: int) -> None:
        """Look at so many instances: climb, start over, and let Hypothesis aim."""
        rng = generator()
        share = max(1, tries * 3 // 4 // RESTARTS)
        for _ in range(RESTARTS):
            climbed: tuple[float, Tape] | None = None
            for k in range(share):
                earlier = climbed[1].varied() if climbed and k > share // 4 else ()
                tape = Tape(rng, earlier)
                ratio = self.look(tape)
                if ratio is not None and (climbed is None or ratio >= climbed[0]):
                    climbed = (ratio, tape)

        def aimed(data: st.DataObject) -> None:
            ratio = self.look(_picks(data))
            if ratio is not None and abs(ratio) < float("inf"):
                hypothesis.target(ratio)

        _hypothesis(aimed, tries // 4, (Phase.generate, Phase.target))


def hunt(inequality: Inequality[P], tries: int, *, but: Collection[str] = (), less: str = "") -> Hunt[P]:
    """Look for the largest ratio among ``tries`` instances, a quarter of them made by Hypothesis.

    Where :mod:`.witnesses` know of an earlier search, its instances that showed something are among them.

    Args:
        inequality: the claim.
        tries: how many instances are made.
        but: assumptions that an instance must break.
        less: what is missing from the right side, for the witnesses.
    """
    known, brief, page = witnesses.page(f"hunt but {', '.join(but)} less {less}")
    looks = _Looks(inequality, but)
    for choices in known.choices if known else ():
        looks.look(Tape(generator(), choices))
    looks.hunt(max(1, tries // witnesses.SHARE) if brief else tries)
    if known and brief:
        looks.tried, looks.met = looks.tried + known.tried, looks.met + known.met
    shown = {tuple(made): None for made in looks.choices.values()}
    witnesses.keep(page, witnesses.Found(looks.tried, looks.met, tuple(shown)))
    return Hunt(looks.tried, looks.met, *looks.best, looks.noticed)


def _made(inequality: Inequality[P], pick: Pick) -> tuple[P, list[int]]:
    """An instance, and the choices that it is made of."""
    made: list[int] = []

    def kept(n: int) -> int:
        made.append(pick(n))
        return made[-1]

    return inequality.instance(Choose(kept)), made


def _picks(data: st.DataObject) -> Pick:
    return lambda n: data.draw(st.integers(0, n - 1))


def _hypothesis(body: Callable[[st.DataObject], None], examples: int, phases: tuple[Phase, ...]) -> None:
    settings = hypothesis.settings(
        max_examples=max(1, examples),
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )
    # A seed: without one the draws depend on the text of the body.
    hypothesis.seed(SEED)(settings(hypothesis.given(st.data())(body)))()


def smallest(inequality: Inequality[P], tries: int, *, but: Collection[str] = ()) -> tuple[P, Sides] | None:
    """The simplest instance that breaks the claim, meeting every assumption except some; None if none was found.

    Where :mod:`.witnesses` know of an earlier search its instance serves, if it breaks the claim still and no other is
    found; a brief run looks for no other.
    """
    known, brief, page = witnesses.page(f"smallest but {', '.join(but)}")
    found: list[tuple[P, Sides, list[int]]] = []

    def look(pick: Pick) -> float | None:
        instance, made = _made(inequality, pick)
        if not inequality.met(instance, but):
            return None
        ratio, sides, _ = worst(inequality, instance)
        if broken(sides):
            found.append((instance, sides, made))
        return ratio

    def breaks(data: st.DataObject) -> None:
        before = len(found)
        ratio = look(_picks(data))
        if ratio is not None and abs(ratio) < float("inf"):
            hypothesis.target(ratio)
        if len(found) > before:
            raise _Broken

    for choices in known.choices if known else ():
        look(Tape(generator(), choices))
    if not (brief and (found or not (known and known.choices))):
        # Hypothesis raises from the smallest, which it runs last.
        with suppress(_Broken):
            _hypothesis(breaks, tries, (Phase.generate, Phase.target, Phase.shrink))
    witnesses.keep(page, witnesses.Found(0, 0, (tuple(found[-1][2]),) if found else ()))
    return found[-1][:2] if found else None


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
                noticed[name] = broken(worst(less, seen.worst)[1]) or hunt(less, tries, less=name).violated
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
