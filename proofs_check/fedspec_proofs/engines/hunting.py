"""Search for the instance at which left / right of an inequality is largest, and for the smallest counterexample.

It draws instances at random, climbs from the best of them by changing single choices, starts over, and lets
Hypothesis aim at the ratio as well. What breaks a claim is shrunk by Hypothesis to the smallest instance that still
does. Everything is counted, nothing is timed, and a run gives the same answer every time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from fedspec_proofs.engines import witnesses
from fedspec_proofs.engines.choose import Choose, Pick, Tape
from fedspec_proofs.engines.exact import SEED, generator
from fedspec_proofs.engines.inequality import Inequality, Sides, broken, worst
from fedspec_proofs.solvers import hypothesis

P = TypeVar("P")

SAME = 1e-9
"""Relative tolerance for a stored ratio, which may differ on another machine."""

RESTARTS = 12
"""Number of restarts of the hill climbing."""


@dataclass(frozen=True)
class Hunt(Generic[P]):
    """Result of a search for the largest ratio left / right.

    Attributes:
        tried: number of instances.
        met: number of instances that met the assumptions.
        ratio: the largest left / right among the instances that met the assumptions.
        worst: the instance with that ratio; None if no instance met the assumptions.
        sides: left and right side of that instance.
        noticed: for each way to weaken the right side, by name, True if some instance then breaks the claim.
    """

    tried: int
    met: int
    ratio: float
    worst: P | None
    sides: Sides
    noticed: Mapping[str, bool]

    @property
    def violated(self) -> bool:
        """True if the sides at the largest ratio break the claim."""
        return self.worst is not None and broken(self.sides)


class _Looks(Generic[P]):
    """Instances that a search evaluates, with their ratios."""

    def __init__(self, inequality: Inequality[P], but: Collection[str]) -> None:
        self.inequality, self.but = inequality, but
        self.tried = self.met = 0
        self.best: tuple[float, P | None, Sides] = (float("-inf"), None, (0, 1))
        self.noticed: dict[str, bool] = {}
        self.choices: dict[str, list[int]] = {}

    def look(self, pick: Pick) -> float | None:
        """Ratio at the chosen instance; None if the instance doesn't meet the assumptions."""
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

        def aimed(data: hypothesis.strategies.DataObject) -> None:
            ratio = self.look(_picks(data))
            if ratio is not None and abs(ratio) < float("inf"):
                hypothesis.target(ratio)

        _hypothesis(aimed, tries // 4, (hypothesis.Phase.generate, hypothesis.Phase.target))


def hunt(inequality: Inequality[P], tries: int, *, but: Collection[str] = (), less: str = "") -> Hunt[P]:
    """Search ``tries`` instances for the largest ratio left / right; Hypothesis makes a quarter of them.

    Where :mod:`.witnesses` know of an earlier search, its instances that showed something are among them.

    Args:
        inequality: the claim to search.
        tries: number of instances.
        but: assumptions that an instance must break.
        less: name of the part of the right side that is left out, for the stored instances.
    """
    known, brief, page = witnesses.page(f"hunt but {', '.join(but)} less {less}")
    looks = _Looks(inequality, but)
    for choices in known.choices if known else ():
        looks.look(Tape(generator(), choices))
    if known and (_below(looks.best[0], known.ratio) or sum(looks.noticed.values()) < known.noticed):
        witnesses.lose(page)
    looks.hunt(max(1, tries // witnesses.SHARE) if brief else tries)
    if known and brief:
        looks.tried, looks.met = looks.tried + known.tried, looks.met + known.met
    shown = {tuple(made): None for made in looks.choices.values()}
    kept = str(looks.best[0]) if looks.met else "", sum(looks.noticed.values())
    witnesses.keep(page, witnesses.Found(looks.tried, looks.met, tuple(shown), *kept))
    return Hunt(looks.tried, looks.met, *looks.best, looks.noticed)


def _below(ratio: float, kept: str) -> bool:
    """True if a ratio is smaller than the stored one, if one was stored."""
    before = float(kept or "-inf")
    return ratio < before - (SAME * abs(before) if abs(before) < float("inf") else 0)


def _made(inequality: Inequality[P], pick: Pick) -> tuple[P, list[int]]:
    """An instance, and the choices that it is made of."""
    made: list[int] = []

    def kept(n: int) -> int:
        made.append(pick(n))
        return made[-1]

    return inequality.instance(Choose(kept)), made


def _picks(data: hypothesis.strategies.DataObject) -> Pick:
    return lambda n: data.draw(hypothesis.strategies.integers(0, n - 1))


def _hypothesis(
    body: Callable[[hypothesis.strategies.DataObject], None], examples: int, phases: tuple[hypothesis.Phase, ...]
) -> None:
    settings = hypothesis.settings(
        max_examples=max(1, examples),
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
        report_multiple_bugs=False,
    )
    # A seed: without one the draws depend on the text of the body.
    hypothesis.seed(SEED)(settings(hypothesis.given(hypothesis.strategies.data())(body)))()


def smallest(inequality: Inequality[P], tries: int, *, but: Collection[str] = ()) -> tuple[P, Sides] | None:
    """Simplest instance found that breaks the claim, violates the assumptions in ``but`` and meets all others.

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

    def breaks(data: hypothesis.strategies.DataObject) -> None:
        before = len(found)
        ratio = look(_picks(data))
        if ratio is not None and abs(ratio) < float("inf"):
            hypothesis.target(ratio)
        if len(found) > before:
            raise _Broken

    for choices in known.choices if known else ():
        look(Tape(generator(), choices))
    if known and len(found) < known.noticed:
        witnesses.lose(page)
    if not (brief and (found or not (known and known.choices))):
        # Hypothesis raises from the smallest, which it runs last.
        with suppress(_Broken):
            _hypothesis(breaks, tries, (hypothesis.Phase.generate, hypothesis.Phase.target, hypothesis.Phase.shrink))
    witnesses.keep(page, witnesses.Found(0, 0, (tuple(found[-1][2]),) if found else (), "", int(bool(found))))
    return found[-1][:2] if found else None


class _Broken(Exception):
    """An instance breaks the claim."""
