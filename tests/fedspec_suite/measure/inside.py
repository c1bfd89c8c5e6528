"""A subject in the judge's own process, observed and guarded as one in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedspec.contract import Case, Event, Subject
from fedspec.serve import Observed
from fedspec_suite.measure.process import SubjectError


class Inside:
    """The specification, a mutant of it, or any subject that can be trusted not to hang."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.info = subject.info

    def start(self, case: Case) -> InsideSession:
        """Begin a session."""
        try:
            return InsideSession(Observed(self.subject, case))
        except Exception as error:
            raise SubjectError(f"subject: {type(error).__name__}: {error}") from error


class InsideSession:
    """A session whose failures are the subject's."""

    def __init__(self, session: Observed) -> None:
        self.session = session

    def step(self, event: Event) -> Mapping[str, Any]:
        """Take the event."""
        try:
            return self.session.step(event)
        except Exception as error:
            raise SubjectError(f"subject: {type(error).__name__}: {error}") from error
