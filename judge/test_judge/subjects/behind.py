"""The specification behind a change of its case, of its events, of its edited rules, or of how it takes an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedspec.contract import Case, Event, SubjectInfo
from fedspec.reference import SUBJECT
from fedspec_suite import mutants
from fedspec_suite.mutants import Mutant, edited, started


@dataclass
class Behind:
    """A subject.

    Attributes:
        algorithm: algorithm that it claims.
        level: level of the offer.
        case: function that changes the case.
        event: function that changes event k.
        take: function by which its session takes event k.
        edits: rules that are edited.
        reading: the reading that it claims, where not the first.
        claimed: further fields of its offer.
    """

    algorithm: str
    level: str
    case: Callable[[Case], Case] = lambda case: case
    event: Callable[[int, Any], Event] = lambda k, e: e
    take: Callable[[Any, Event, int], Any] = lambda inner, e, k: inner.step(e)
    edits: tuple[Mutant, ...] = ()
    reading: str = ""
    claimed: Mapping[str, Any] = field(default_factory=dict)
    info: SubjectInfo = field(init=False)

    def __post_init__(self) -> None:
        offers = (o for o in SUBJECT.info.offers if (o.algorithm, o.level) == (self.algorithm, self.level))
        offer = next(o for o in offers if self.reading in {"", o.reading})
        self.info = SubjectInfo("behind", "1", (replace(offer, dtypes=("float64",), **self.claimed),))

    def start(self, case: Case) -> Session:
        return Session(self, case)


def moved(otherwise: Callable[[int, Any], Any]) -> Callable[[Any, Event, int], Any]:
    """Make a function that takes an event and shows another model: a function of the event's number, from 0, and the
    right one."""

    def take(inner: Any, e: Event, k: int) -> Any:
        answer = dict(inner.step(e))
        return {**answer, "x": otherwise(k, np.array(answer["x"]))}

    return take


class Session:
    """Session of the specification behind the subject's changes."""

    def __init__(self, subject: Behind, case: Case) -> None:
        self.subject, self.k = subject, 0
        case, edits = subject.case(case), {m: edited(m)[1] for m in subject.edits}
        # What is edited is the form with options.
        self.inner = started(case, mutants.edits(edits)) if edits else SUBJECT.start(case)

    def step(self, e: Event) -> Any:
        k, self.k = self.k, self.k + 1
        return self.subject.take(self.inner, self.subject.event(k, e), k)
