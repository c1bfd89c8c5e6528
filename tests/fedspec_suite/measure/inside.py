"""A subject in the judge's own process, observed and guarded as one in a process of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from fedspec.contract import Case, Event, Subject
from fedspec.serve import Observed
from fedspec_suite.measure.process import SubjectError


class Inside:
    """The specification, a mutant of it, or any subject that can be trusted not to hang."""

    def __init__(self, subject: Subject, *, copies: bool = False) -> None:
        """Take a subject.

        Args:
            subject: who is asked.
            copies: whether it is handed copies, since it may write into what it is given.
        """
        self.subject = subject
        self.info = subject.info
        self.handed: Callable[[Any], Any] = copy.deepcopy if copies else lambda value: value

    def start(self, case: Case) -> InsideSession:
        """Begin a session."""
        try:
            return InsideSession(Observed(self.subject, self.handed(case)), self.handed)
        except Exception as error:
            raise SubjectError(f"subject: {type(error).__name__}: {error}") from error


class InsideSession:
    """A session whose failures are the subject's."""

    def __init__(self, session: Observed, handed: Callable[[Any], Any]) -> None:
        self.session = session
        self.handed = handed

    def step(self, event: Event) -> Mapping[str, Any]:
        """Take the event."""
        try:
            return self.session.step(self.handed(event))
        except Exception as error:
            raise SubjectError(f"subject: {type(error).__name__}: {error}") from error
