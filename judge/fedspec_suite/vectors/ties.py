"""Totals that rounding decides: under a rival a comparison may be tied, and falls otherwise on another machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from fedspec.arith import Array
from fedspec_suite.diagnosis.variants import CANNOT
from fedspec_suite.measure.dice import Dice
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.scenario import Scenario, change_events, posed
from fedspec_suite.measure.verdict import Deviates
from fedspec_suite.vectors.rivals import WIDE_ONLY, Kill, Rival, Want, answers, rivals
from fedspec_suite.vectors.rows import Row

NUDGE = 2.0**-45
"""Far more than rounding, and far less than the digits of a total."""

FAR = 1e-5
"""Of the largest number: how far a reader of the vectors lets a total be off."""


def steady(r: Row, s: Scenario, want: Want, kills: Mapping[str, Kill]) -> dict[str, Kill]:
    """The same, with no total where rounding decides it.

    FedYogi under another mean, say, whose square is v but for rounding: the sign of their difference, and so the
    total, is one here and another there, and no less so in an implementation.
    """
    among = {rival.id: rival for rival in rivals(r)}
    either = [_nudged(s, NUDGE), _nudged(s, -NUDGE)]
    return {
        name: kill if _stays(r, either, want, among[name], kill) else kill._replace(total=math.nan)
        for name, kill in kills.items()
    }


def _stays(r: Row, either: Sequence[Scenario], want: Want, rival: Rival, kill: Kill) -> bool:
    """Whether the total is the same where the inputs are a little larger or smaller; one that is none stays none."""
    place = kill.place.removesuffix(WIDE_ONLY)
    if not math.isfinite(kill.total):
        return True
    wanted = float(np.abs(want.values[-1].get(place, (0.0,))).max())
    try:
        for s in either:
            last = {name: got for _, name, got in answers(r, s, want, rival)}[place]
            far = FAR * max(wanted, float(np.abs(last).max()))
            if not abs(float(np.sum(last)) - kill.total) <= far:
                return False
    except (SubjectError, Deviates, *CANNOT):
        return False
    return True


def _nudged(s: Scenario, by: float) -> Scenario:
    """The case with each number of its model, its messages and its objectives off by another few times so much."""
    dice = Dice("nudged")

    def off(a: Array) -> Array:
        return a * (1 + by * np.array([dice.between(1, 15) for _ in range(a.size)]).reshape(a.shape))

    moved = change_events(s, off, off)
    return moved if s.case.problem is None else posed(moved, moved.case.x0, e=off(s.case.problem.e))
