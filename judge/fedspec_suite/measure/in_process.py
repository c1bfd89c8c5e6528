"""A subject in the judge's own process, observed and guarded as one in a process of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from fedspec.contract import Case, Event, Subject
from fedspec.serve import Observed, place_of
from fedspec_suite.measure.process import SubjectRaised
from fedspec_suite.measure.setting import with_readings

T = TypeVar("T")


class InProcess:
    """The specification, a mutant of it, or any subject that can be trusted not to hang."""

    def __init__(self, subject: Subject, *, copies: bool = False) -> None:
        """Take a subject.

        Args:
            subject: who is asked.
            copies: whether copies change hands, since it may write into what it is given and into what it gave.
        """
        self.subject = subject
        self.info = with_readings(subject.info)
        self.handed: Callable[[Any], Any] = unaliased if copies else lambda value: value

    def start(self, case: Case) -> InProcessSession:
        """Begin a session."""
        return _asked(lambda: InProcessSession(Observed(self.subject, self.handed(case)), self.handed))


class InProcessSession:
    """A session whose failures are the subject's."""

    def __init__(self, session: Observed, handed: Callable[[Any], Any]) -> None:
        self.session = session
        self.handed = handed

    def step(self, event: Event) -> Mapping[str, Any]:
        """Take the event."""
        return _asked(lambda: self.handed(self.session.step(self.handed(event))))

    def save(self) -> bytes:
        """Return the bytes that the session saves."""
        return _asked(self.session.save)

    def restore(self, saved: bytes) -> None:
        """Hand the session bytes to go on from."""
        _asked(lambda: self.session.restore(saved))


def _asked(ask: Callable[[], T]) -> T:
    """The answer of a subject, whose exceptions are its own."""
    try:
        return ask()
    except Exception as error:
        raise SubjectRaised(f"adapter: {type(error).__name__}: {error}{place_of(error)}") from error


def unaliased(value: Any) -> Any:
    """A copy in which every array stands for itself: two clients may send one array, and one of them be written to."""
    if isinstance(value, Mapping):
        return {name: unaliased(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [*map(unaliased, value)] if isinstance(value, list) else (*map(unaliased, value),)
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(**{f.name: unaliased(getattr(value, f.name)) for f in fields(value)})
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        # What is no array after all is the bench's to refuse.
        with contextlib.suppress(Exception):
            return np.array(value)
    return value
