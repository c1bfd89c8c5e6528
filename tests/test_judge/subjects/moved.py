"""The specification, whose models are shown otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedspec.contract import Case, Event, SubjectInfo
from fedspec.reference import SUBJECT


@dataclass
class Session:
    """Its models are a function of the number of the event, from 0, and of the right ones."""

    right: Any
    otherwise: Callable[[int, Any], Any]
    events: int = field(default=0)

    def step(self, event: Event) -> dict[str, Any]:
        answer = dict(self.right.step(event))
        answer["x"] = self.otherwise(self.events, np.array(answer["x"]))
        self.events += 1
        return answer


@dataclass
class Moved:
    """A subject with such models."""

    info: SubjectInfo
    otherwise: Callable[[int, Any], Any]

    def start(self, case: Case) -> Session:
        return Session(SUBJECT.start(case), self.otherwise)
