"""A time budget: a subject that begins no more sessions once it is used up."""

from __future__ import annotations

import time

from fedspec.contract import Case, Session, Subject
from fedspec_suite.measure.process import SubjectError


class Budgeted:
    """A subject that may take so many seconds in all, from now on."""

    def __init__(self, subject: Subject, seconds: float) -> None:
        self.subject = subject
        self.info = subject.info
        self.seconds = seconds
        self.end = time.monotonic() + seconds

    @property
    def spent(self) -> str:
        """Why it is asked nothing more; empty while it is asked."""
        return "" if time.monotonic() < self.end else f"not asked, budget used ({self.seconds:.3g} s)"

    def start(self, case: Case) -> Session:
        """Begin a session.

        Raises:
            SubjectError: the budget is used up.
        """
        if spent := self.spent:
            raise SubjectError(spent)
        return self.subject.start(case)
