"""A case with one feature removed and all else kept; it shows whether that feature decides.

In the drawn cases, other features may accompany this feature by chance; here they stay when the feature goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedspec.contract import Messages, Round
from fedspec_suite.diagnosis.cases.beside_others import HOLDING
from fedspec_suite.diagnosis.cases.features import OTHERWISE
from fedspec_suite.diagnosis.cases.probes import ladders
from fedspec_suite.measure.scenario import Scenario, each_round, mapped
from fedspec_suite.measure.setting import Setting

RELATIVE = {"numbers of about", "all digits"}
"""Ladders whose values are relative to the case at which they begin."""


def on_ladder(setting: Setting, s: Scenario, name: str, values: Sequence[float]) -> Scenario | None:
    """Return the case with a feature at the first of these values that is possible; None if none is."""
    if name in RELATIVE:
        return None
    for ladder in ladders(setting, [s], lambda one, other: True):
        if ladder.name == name:
            return next((ladder.at(v) for v in values if v in ladder.values or ladder.whole), None)
    return None


def without(setting: Setting, s: Scenario, words: str, last: int) -> Scenario | None:
    """Return the case up to an event without the feature that the words name; None if no function can make it."""
    made = next((make for part, make in _MADE.items() if part in words), None)
    other = None if made is None else made(setting, replace(s, events=s.events[: last + 1]))
    if other is None:
        return None
    if words in OTHERWISE:
        return None if OTHERWISE[words](other, last) else other
    there = (HOLDING[words](other, k) for k in range(last + 1)) if words in HOLDING else iter((None,))
    return other if all(holds is False for holds in there) else None


def _messages(s: Scenario, of: Callable[[int, Any, Any], Any]) -> Scenario | None:
    """The case with each message changed, by its place, itself and the first of its event."""
    if not all(isinstance(e, Messages) for e in s.events):
        return None
    sent: list[Any] = [e.messages for e in s.events if isinstance(e, Messages)]
    events = (Messages(tuple(of(k, m, there[0]) for k, m in enumerate(there))) for there in sent)
    told = (replace(new, hyper=e.hyper) for new, e in zip(events, s.events, strict=True))  # type: ignore[union-attr]
    return replace(s, events=tuple(told))


def _norms(setting: Setting, s: Scenario, of: Callable[[int, Any, Any], float]) -> Scenario | None:
    return None if setting.steps_only else _messages(s, lambda k, m, first: replace(m, a_norm=of(k, m, first)))


def _one_norm(setting: Setting, s: Scenario) -> Scenario | None:
    return _norms(setting, s, lambda k, m, first: first.a_norm)


def _norms_apart(setting: Setting, s: Scenario) -> Scenario | None:
    return _norms(setting, s, lambda k, m, first: first.a_norm + k)


def _steps(setting: Setting, s: Scenario, by: int) -> Scenario | None:
    """The case in whose events the k-th client takes ``by`` times k more steps than the first client."""

    def message(k: int, m: Any, first: Any) -> Any:
        tau = first.steps + by * k
        return replace(m, steps=tau, a_norm=tau if setting.steps_only else m.a_norm)

    if all(isinstance(e, Round) for e in s.events):
        return mapped(s, Round, lambda e: replace(e, steps=tuple(e.steps[0] + by * k for k in range(len(e.steps)))))
    return _messages(s, message)


def _one_weight(setting: Setting, s: Scenario) -> Scenario | None:
    problem = s.case.problem
    if problem is not None:
        alike = replace(problem, examples=np.full_like(problem.examples, max(1, int(problem.examples[0]))))
        return replace(s, case=replace(s.case, problem=alike))
    return _messages(s, lambda k, m, first: replace(m, weight=max(1, first.weight)))


def _numbered_by_place(setting: Setting, s: Scenario) -> Scenario | None:
    """The case in which the k-th client of every event has number k: new clients appear only in larger events."""
    return _messages(s, lambda k, m, first: replace(m, client=k))


def _strangers(setting: Setting, s: Scenario) -> Scenario | None:
    """The case in which no client takes part twice."""
    if s.case.population is not None:
        return None
    new = iter(range(1, 1 + sum(len(e.messages) for e in s.events if isinstance(e, Messages))))
    return _messages(s, lambda k, m, first: replace(m, client=next(new)))


def _numbered_in_turn(setting: Setting, s: Scenario) -> Scenario | None:
    """The case whose clients are numbered from zero, one after another, and come in that order."""
    seen = sorted({m.client for e in s.events if isinstance(e, Messages) for m in e.messages})
    made = _messages(s, lambda k, m, first: replace(m, client=seen.index(m.client)))
    if made is None:
        return None
    return each_round(made, lambda sent: sorted(sent, key=lambda m: m.client))


_MADE: Mapping[str, Callable[[Setting, Scenario], Scenario | None]] = {
    "where clients of a round have different ||a_i||_1": _one_norm,
    "have one ||a_i||_1": _norms_apart,
    "have different ||a_i||_1": _norms_apart,
    "where clients of a round take different numbers of steps": lambda setting, s: _steps(setting, s, 0),
    "take other numbers of steps": lambda setting, s: _steps(setting, s, 0),
    "take equally many steps": lambda setting, s: _steps(setting, s, 1),
    "take different numbers of steps": lambda setting, s: _steps(setting, s, 1),
    "where clients of a round have different weights": _one_weight,
    "for the first time": _numbered_by_place,
    "takes part again": _strangers,
    "than the last time": _strangers,
    "not numbered": _numbered_in_turn,
    "number is": _numbered_in_turn,
    "in the order of their numbers": _numbered_in_turn,
}
"""Functions that remove a feature from a case, by a part of the feature's words."""
