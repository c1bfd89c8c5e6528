"""Seconds that this thread spent on imports, compiling and choosing gradient methods, which round times exclude."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any


class _Watch(threading.local):
    depth = 0
    since = 0.0
    spent = 0.0


_watch = _Watch()


def seconds() -> float:
    """Return this thread's set-up seconds so far."""
    return _watch.spent


@contextmanager
def setting_up() -> Iterator[None]:
    """Count the time inside this context as set-up; nested contexts count once."""
    _begin()
    try:
        yield
    finally:
        _end()


@cache
def numba() -> Any:
    """Import and return numba; its import, compilations and cache loads count as set-up time."""
    with setting_up():
        events = import_module("numba.core.event")

        class Compiling(events.Listener):  # type: ignore[misc, name-defined]
            def on_start(self, event: Any) -> None:
                _begin()

            def on_end(self, event: Any) -> None:
                _end()

        events.register("numba:compiler_lock", Compiling())
        return import_module("numba")


def _begin() -> None:
    if not _watch.depth:
        _watch.since = time.perf_counter()
    _watch.depth += 1


def _end() -> None:
    _watch.depth -= 1
    if not _watch.depth:
        _watch.spent += time.perf_counter() - _watch.since
