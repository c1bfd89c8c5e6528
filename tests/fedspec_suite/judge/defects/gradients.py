"""Gradients: what a local solver makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fedspec.contract import Event, Gradient
from fedspec_suite.judge.defects.defect import Defect
from fedspec_suite.measure.scenario import Scenario


def _regraded(words: str, change: Callable[[Any, Any, int], Any]) -> Defect:
    """A change of every gradient: from it, the one before it (itself at first) and its number."""

    def given(s: Scenario) -> Scenario:
        events: list[Event] = []
        before, k = None, 0
        for e in s.events:
            if isinstance(e, Gradient):
                g = {n: change(a, (before or e.g)[n], k) for n, a in e.g.items()}
                before, k = e.g, k + 1
                events.append(Gradient(g))
            else:
                before, k = None, 0
                events.append(e)
        return replace(s, events=tuple(events))

    return Defect(words=words, given=given)


ALL = (
    _regraded("the gradient has the wrong sign", lambda g, before, k: -g),
    _regraded("the gradient is that of the step before", lambda g, before, k: before),
    _regraded("the gradient is doubled", lambda g, before, k: 2 * g),
    _regraded("the gradient is averaged over the coordinates of a block", lambda g, before, k: g * 0 + g.mean()),
    _regraded("the gradient is clipped to [-1, 1]", lambda g, before, k: np.clip(g, -1, 1)),
    _regraded("the gradient is replaced by its sign", lambda g, before, k: np.sign(g)),
    _regraded("the gradient is divided by the number of the step", lambda g, before, k: g / (k + 1)),
)
