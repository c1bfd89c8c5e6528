"""Recorder of a subject's sessions: the requests and answers of one case, in the form of the JSON protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedspec.contract import Case, Event, Offer, Session, Subject
from fedspec.errors import ContractError, FedspecError
from fedspec.wire import encode
from fedspec_suite.laws.follows_rule import SHOWN
from fedspec_suite.measure.bench import THRESHOLD, Bench, Shown
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, describe
from fedspec_suite.measure.verdict import Deviates, Deviation


@dataclass
class _Played:
    """A session: its case, and of each event its answer and the number of its call."""

    case: Case
    events: list[tuple[Event, Mapping[str, Any], int]] = field(default_factory=list)


class RecordedSubject:
    """Wrapper of a subject that records its calls and answers.

    Attributes:
        calls: ``{"session": 0, "case": ...}`` or ``{"session": 0, "event": ..., "answer": ...}``, as they came.
        sessions: the same by session, for comparisons.
    """

    def __init__(self, subject: Subject, offer: Offer) -> None:
        self.subject = subject
        self.info = subject.info
        self.kept = {"x", "dtype", "touched", *offer.intermediates}
        self.calls: list[dict[str, Any]] = []
        self.sessions: list[_Played] = []

    def start(self, case: Case) -> Session:
        """Begin a recorded session."""
        self.calls.append({"session": len(self.sessions), "case": encode(case)})
        self.sessions.append(_Played(case))
        return _Session(self, len(self.sessions) - 1, self.subject.start(case))


class _Session:
    def __init__(self, record: RecordedSubject, number: int, session: Session) -> None:
        self.record, self.number, self.session = record, number, session

    def step(self, event: Event) -> Mapping[str, Any]:
        call: dict[str, Any] = {"session": self.number, "event": encode(event)}
        self.record.calls.append(call)
        place = len(self.record.calls)
        try:
            answer = self.session.step(event)
        except SubjectError as error:
            call["error"] = str(error)
            raise
        call["answer"] = encode({n: v for n, v in answer.items() if n in self.record.kept})
        # What was written down, since a subject may go on writing into what it has returned.
        self.record.sessions[self.number].events.append((event, call["answer"], place))
        return answer

    def save(self) -> bytes:
        raise ContractError("save: a script can't replay a restored session")

    def stop(self) -> None:
        getattr(self.session, "stop", lambda: None)()


@dataclass(frozen=True)
class Number:
    """Wrong number in an answer, with the expected value and the number of calls that lead to it.

    Attributes:
        calls: number of calls to play; the answer to the last call holds the number.
        name: ``x`` or an intermediate.
        component: its index in the flat vector.
        want: the expected value.
        allowed: allowed distance from the expected value.
        law: True if the law gives the expected value, and not the rule itself.
    """

    calls: int
    name: str
    component: int
    want: float
    allowed: float
    law: bool = False


def off_the_rule(bench: Bench, record: RecordedSubject) -> Number | None:
    """Return the first number in the recorded sessions that differs from the rule's; None if all agree."""
    for played in record.sessions:
        s = Scenario(played.case, tuple(event for event, _, _ in played.events))
        try:
            want = bench.expect(s)
        except FedspecError:
            continue
        for k, (_, got, place) in enumerate(_read(bench, s, played)):
            for name in (n for n in SHOWN if n in got and n in want[k]):
                number = _off(bench, name, got[name], want[k][name], place)
                if number is not None:
                    return number
    return None


def _read(bench: Bench, s: Scenario, played: _Played) -> Iterator[tuple[Event, Shown, int]]:
    for k, (event, answer, place) in enumerate(played.events):
        try:
            yield event, bench.read(answer, s, k, describe(event)), place
        except (Deviates, SubjectError):
            return


def _off(bench: Bench, name: str, got: Any, want: Any, place: int) -> Number | None:
    """The component that is farthest off, where one is and all could be decided."""
    bounds, info = bounds_of(want), np.finfo(bench.dtype)
    wanted = np.array([float(w) for w in want])
    if got.shape != want.shape or not np.isfinite(bounds).all() or not np.isfinite(wanted).all():
        return None
    allowed = THRESHOLD * (float(info.eps) * bounds + float(info.tiny))
    apart = np.where(np.isfinite(got), np.abs(np.nan_to_num(got) - wanted), np.inf) / allowed
    j = int(np.argmax(apart))
    return Number(place, name, j, float(wanted[j]), float(allowed[j])) if apart[j] > 1 else None


def of_the_law(bench: Bench, record: RecordedSubject, deviation: Deviation | None) -> Number | None:
    """Return the number that the law itself rejected, if it is a single number in a recorded answer."""
    d = deviation
    if d is None or d.component is None or d.got is None or d.want is None:
        return None
    found = (0, "")
    for played in record.sessions:
        s = Scenario(played.case, tuple(event for event, _, _ in played.events))
        for _, got, place in _read(bench, s, played):
            for name in got.keys() & ({d.shown} if d.shown else set(SHOWN)):
                if d.component < got[name].size and got[name][d.component] == d.got:
                    found = max(found, (place, name))
    place, name = found
    allowed = abs(d.got - d.want) * THRESHOLD / d.ratio if d.ratio else 0.0
    return Number(place, name, d.component, d.want, allowed, law=True) if place else None
