"""Inequalities left <= right about random instances: their sides, their ratio and weakened right sides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from fedspec_proofs.engines.choose import Choose

P = TypeVar("P")

Sides: TypeAlias = tuple[Any, Any]
"""Left and right side of one inequality left <= right. The right side may be a mapping, from the names of its terms to
their values: it is their sum. Each of several terms is left out in turn, and the whole is halved, to see whether the
search notices; inequalities with the same names are judged as one."""

ROUNDING = 1e-9
"""Relative excess over the right side above which a floating-point left side counts as a violation."""


@dataclass(frozen=True)
class Inequality(Generic[P]):
    """A claim left <= right about every instance that meets its assumptions.

    Attributes:
        instance: function that makes an instance; its instances must be able to violate every assumption, otherwise
            dropping an assumption shows nothing.
        assumptions: for each assumption, by the claim's name for it, True if an instance meets it.
        sides: left and right side of each inequality that is claimed for an instance; exact, or in floating point.
        spoiled: the sides with a deliberate error in a part of the bound that isn't a term of its sum (a constant, a
            factor), by the name of the part; the search must find a violation for each.
    """

    instance: Callable[[Choose], P]
    assumptions: Mapping[str, Callable[[P], bool]]
    sides: Callable[[P], Iterable[Sides]]
    spoiled: Mapping[str, Callable[[P], Iterable[Sides]]] = field(default_factory=dict)

    def met(self, instance: P, but: Collection[str] = ()) -> bool:
        """True if the instance violates the assumptions in ``but`` and meets all others."""
        return all(holds(instance) != (name in but) for name, holds in self.assumptions.items())

    def summed(self, instance: P) -> Iterator[tuple[Any, Any]]:
        """Left and right side of each inequality at an instance, as two numbers."""
        return ((left, total(right)) for left, right in self.sides(instance))


def total(right: Any) -> Any:
    """Right side as one number: the sum of its terms, if it is a mapping."""
    return sum(right.values()) if isinstance(right, Mapping) else right


def broken(sides: Sides) -> bool:
    """True if left <= right fails; for floating-point sides, by more than rounding."""
    left, right = sides[0], total(sides[1])
    inexact = isinstance(left, float) or isinstance(right, float)
    return bool(left > right + ROUNDING * abs(right) + ROUNDING**2) if inexact else bool(left > right)


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
    """Weakened right sides by name: without each of its terms in turn, and half of the whole.

    What is negative counts twice instead, since the claim is weaker without it.
    """
    whole = total(right)
    if not isinstance(right, Mapping):
        return {HALF: whole - abs(whole) / 2}
    out = {name: whole - abs(term) for name, term in right.items()} if len(right) > 1 else {}
    return {**out, f"{HALF}: {' + '.join(right)}": whole - abs(whole) / 2}


def worst(inequality: Inequality[P], instance: P) -> tuple[float, Sides, Mapping[str, bool]]:
    """Ratio and sides of the tightest inequality (broken first); for each weakened right side, if it is broken."""
    found: tuple[bool, float, Sides] = (False, float("-inf"), (0, 1))
    noticed: dict[str, bool] = {}
    for left, right in inequality.sides(instance):
        sides = (left, total(right))
        found = max(found, (broken(sides), _ratio(sides), sides), key=lambda t: t[:2])
        for name, less in weaker(right).items():
            noticed[name] = noticed.get(name, False) or broken((left, less))
    return found[1], found[2], noticed
