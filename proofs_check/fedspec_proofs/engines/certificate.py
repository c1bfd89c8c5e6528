"""Proofs by adding inequalities: with nonnegative multipliers they sum to the claimed inequality."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec_proofs.claim import Finding
from fedspec_proofs.engines.draw import Draw, curried
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.engines.inequality import total


@dataclass(frozen=True)
class Step:
    """The inequality ``low <= high``, times ``multiplier``."""

    multiplier: Any
    low: Any
    high: Any


@dataclass(frozen=True)
class Sum:
    """Named steps and their claimed sum: left + spare <= right, with a spare that is not negative.

    The right side may be a mapping, from the names of its terms to their values, as in an
    :class:`~fedspec_proofs.engines.inequality.Inequality`; what is no term of the bound has the name ``""``.
    """

    steps: Mapping[str, Step]
    left: Any
    right: Any
    spare: Any = 0


def _not_negative(value: Any) -> bool:
    return bool(value >= 0) if isinstance(value, Fraction | int) else bool(value.is_nonnegative)


@curried
def adds_up(
    draw: Draw, make: Callable[[Draw], Sum], *but: str, shares: Mapping[str, Any] | None = None, halved: str = ""
) -> list[Any]:
    """Identity to check: right - left - spare - steps (all except those named in ``but``); zero if they add up.

    Args:
        make: function that makes the steps; every variable in a multiplier or in the slack must be positive.
        but: names of steps that are left out.
        shares: for some steps, a factor of the step, by default 1.
        halved: name of a term of the right side that is halved.

    Raises:
        ValueError: a multiplier or the slack may be negative.
    """
    whole = make(draw)
    used = {name: step for name, step in whole.steps.items() if name not in but}
    signs = {**{name: step.multiplier for name, step in used.items()}, "the slack": whole.spare}
    negative = [name for name, value in signs.items() if not _not_negative(value)]
    if negative:
        raise ValueError(f"adds_up: {', '.join(negative)} may be negative; multipliers and slack must be >= 0")
    share = shares or {}
    taken = sum(share.get(name, 1) * s.multiplier * (s.high - s.low) for name, s in used.items())
    right = total(whole.right) - (whole.right[halved] / 2 if halved else 0)
    return [right - whole.left - taken - whole.spare]


def added(make: Callable[[Draw], Sum], names: Mapping[str, str]) -> Finding:
    """Proved if the steps add up for all values of their variables; also tries the sum without each named step."""
    without = {name: {"the rest": adds_up(make, name)} for name in names}
    return identities({"all sizes and constants": adds_up(make)}, without=without)
