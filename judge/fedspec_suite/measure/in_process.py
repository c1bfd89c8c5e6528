"""A subject in the judge's own process, with the same checks and errors as a subject in a separate process."""

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
    """Subject in the judge's process: the specification, a mutant, or another subject that is trusted not to hang."""

    def __init__(self, subject: Subject, *, copies: bool = False) -> None:
        """Wrap a subject.

        Args:
            subject: the subject to ask.
            copies: True: copy all arguments and answers, because the subject may write into both.
        """
        self.subject = subject
        self.info = with_readings(subject.info)
        self.handed: Callable[[Any], Any] = unaliased if copies else lambda value: value

    def start(self, case: Case) -> InProcessSession:
        """Begin a session."""
        return _asked(lambda: InProcessSession(Observed(self.subject, self.handed(case)), self.handed))


class InProcessSession:
    """Session of a subject in this process; exceptions of the subject become ``SubjectError``."""

    def __init__(self, session: Observed, handed: Callable[[Any], Any]) -> None:
        self.session = session
        self.handed = handed

    def step(self, event: Event) -> Mapping[str, Any]:
        """Send an event to the subject and return its answer."""
        return _asked(lambda: self.handed(self.session.step(self.handed(event))))

    def save(self) -> bytes:
        """Return the bytes that the session saves."""
        return _asked(self.session.save)

    def restore(self, saved: bytes) -> None:
        """Give saved bytes to the session, from which it continues."""
        _asked(lambda: self.session.restore(saved))


def _asked(ask: Callable[[], T]) -> T:
    """The answer of a subject, whose exceptions are its own."""
    try:
        return ask()
    except Exception as error:
        raise SubjectRaised(f"adapter: {type(error).__name__}: {error}{place_of(error)}") from error


def unaliased(value: Any) -> Any:
    """Return a deep copy without shared arrays, so that writing into one client's array changes no other client's."""
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
