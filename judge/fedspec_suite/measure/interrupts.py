"""Signals that end a program, raised as ``KeyboardInterrupt`` and deferred while a process is being started.

An interrupt is an exception in the main thread, between any two statements. Where it arrives after a process was made
and before anybody holds it, that process would run on.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

_ENDING: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_AGAIN = 0.02
"""Seconds until a signal that was lost is sent again."""


class Terminated(KeyboardInterrupt):
    """Interrupt raised on SIGTERM or SIGHUP; a ``KeyboardInterrupt``, so that open resources are closed.

    Attributes:
        number: number of the signal.
    """

    def __init__(self, number: int = signal.SIGTERM) -> None:
        super().__init__()
        self.number = number


def status(interrupt: KeyboardInterrupt) -> int:
    """Return the exit code of a process that a signal ended, as shells count it: 128 plus the signal's number."""
    return 128 + (interrupt.number if isinstance(interrupt, Terminated) else signal.SIGINT)


@contextmanager
def terminable() -> Iterator[None]:
    """Raise :class:`Terminated` on SIGTERM and SIGHUP in the main thread while the block runs; ignored ones stay so.

    None of them, nor Ctrl-C, is lost where Python drops what is raised.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: signal.getsignal(n) for n in _ENDING}
    for number, handler in before.items():
        # `nohup` ignores one of them; a program's own handler of Ctrl-C stays.
        if handler is not signal.SIG_IGN and (number != signal.SIGINT or handler is signal.default_int_handler):
            signal.signal(number, _terminate)
    hook = sys.unraisablehook
    sys.unraisablehook = partial(_insist, hook)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminate(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code is _insist.__code__:
            # On a busy machine the signal comes again before the hook has returned, where it would be dropped for good.
            return _send_again(number)
        frame = frame.f_back
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


def _insist(otherwise: Callable[[Any], Any], lost: Any) -> None:
    """Send the signal again whose exception Python has dropped: it was raised in a finaliser or a callback of gc."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        _send_again(getattr(lost.exc_value, "number", signal.SIGINT))
    else:
        otherwise(lost)


def _send_again(number: int) -> None:
    threading.Timer(_AGAIN, os.kill, (os.getpid(), number)).start()


@contextmanager
def patient(told: Callable[[], object]) -> Iterator[None]:
    """Defer an interrupt to the end of the block and call ``told``; a second interrupt is not deferred."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: h for n in _ENDING if callable(h := signal.getsignal(n))}
    came: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        if came:
            before[number](number, frame)
        came.append(number)
        told()

    for number in before:
        signal.signal(number, wait)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        before[came[0]](came[0], None)


@contextmanager
def deferred() -> Iterator[None]:
    """Defer interrupts to the end of the block and raise them there; use it for blocks that take almost no time.

    Start a process in it, inside the ``try`` that ends the process::

        child = None
        try:
            with deferred():
                child = subprocess.Popen(command)
            return child.wait()
        except BaseException:
            if child is not None: ...
    """
    # Python runs handlers in the main thread alone.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before: dict[int, Any] = {}
    try:
        with blocked(*_ENDING):
            for number in _ENDING:
                if callable(handler := signal.getsignal(number)):
                    before[number] = handler
                    signal.signal(number, lambda n, frame: came.append(n))
        yield
    finally:
        with blocked(*_ENDING):
            for number, handler in before.items():
                signal.signal(number, handler)
            for number in came:
                signal.raise_signal(number)


@contextmanager
def blocked(*numbers: int) -> Iterator[None]:
    """Hold some signals back in this thread; a process that is started meanwhile holds them back too."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
