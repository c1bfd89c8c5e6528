"""Time limit on computations of sympy, in processor time, so that other load on the machine does not matter."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ALGEBRA = ("sympy", "fedspec")
"""Modules whose code the time limit may interrupt."""


class _TooLate(BaseException):
    """Exception for a time limit, not an ``Exception``, since sympy catches those in places."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Interrupt the code inside the ``with`` block after so many seconds of processor time; main thread only.

    Raises:
        TimeoutError: the time limit was reached.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        # What is raised while Python cleans up (a finaliser, a hook of the garbage collector) is printed and lost.
        if frame is not None and str(frame.f_globals.get("__name__")).startswith(ALGEBRA):
            raise _TooLate

    before = signal.signal(signal.SIGPROF, stop)
    # Again and again, should an alarm come at such a moment.
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.02)
    try:
        yield
    except _TooLate:
        raise TimeoutError(f"not decided in {seconds:g} s of processor time") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
