"""Runs of a variant on the numbers that a subject shows: before each event, these take the place of its own.

An error of an earlier event then reaches no later one. So a variant that explains one of several mistakes gives the
quantity that this mistake alone decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fedspec.contract import Begin, Event, Round
from fedspec_suite.diagnosis.comparing import SURE, off
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, with_x
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.variants import CANNOT, Variant
from fedspec_suite.measure.bench import WORDS, Shown
from fedspec_suite.measure.scenario import Scenario

Played = Sequence[tuple[Scenario, Sequence[Shown]]]
"""Cases with a subject's answers."""


def given_names(known: Known, v: Variant, played: Played, names: Collection[str]) -> set[str]:
    """Names of the quantities that a variant gives in each event of some cases, from the subject's state before it.

    The run ends at the first event after which no name is left.
    """
    left = {*names}
    for s, answers in played:

        def same(k: int, want: Shown, s: Scenario = s, answers: Sequence[Shown] = answers) -> bool:
            shown = [n for n in left if n in answers[k] and not isinstance(s.events[k], Begin)]
            left.difference_update(n for n in shown if n not in want or not _near(answers[k][n], want[n], s))
            return bool(left)

        follows = replace(v, defects=(*v.defects, Defect(words="", session=partial(_following, answers))))
        try:
            follows.followed(s, known.editions(v)(), same)
        except CANNOT:
            return set()
        if not left:
            break
    return left


def _near(got: Any, want: Any, s: Scenario) -> bool:
    return bool(off(got, want, s).mean() <= 1 - SURE)


def _following(answers: Sequence[Shown], inner: Running, s: Scenario) -> Running:
    """A session whose state is, before each event, what the subject has shown after the event before."""

    def take(inner: Running, event: Event, k: int) -> Any:
        if k:
            inner.state = _with_all(inner.state, answers[k - 1], s.events[k - 1])
        return inner.step(event)

    return Stepping(inner, take)


def _with_all(state: Any, shown: Mapping[str, Any], event: Event) -> Any:
    """Replace the model of a state, and its fields that are shown: all of them, or the rows of the participants."""
    state = with_x(state, np.array(shown["x"], float))
    there = {f.name: getattr(state, f.name) for f in fields(state)} if is_dataclass(state) else {}
    own: dict[str, Any] = {}
    for n in (there.keys() & shown.keys()) - {"x", *WORDS}:
        value, old = np.asarray(shown[n], float), there[n]
        if np.size(old) == value.size:
            own[n] = value.reshape(np.shape(old))
        elif isinstance(event, Round) and isinstance(old, np.ndarray):
            rows = old.copy()
            rows[[*event.participants]] = value.reshape(-1, *old.shape[1:])
            own[n] = rows
    return replace(state, **own) if own else state
