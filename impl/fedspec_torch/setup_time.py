"""Seconds of this thread that went into imports, compiling and choosing ways: the time of a round leaves them out."""

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
    """Seconds of set-up in this thread so far."""
    return _watch.spent


@contextmanager
def setting_up() -> Iterator[None]:
    """Count the seconds inside as set-up, once however deep they lie."""
    _begin()
    try:
        yield
    finally:
        _end()


@cache
def numba() -> Any:
    """The module numba, whose import and compilations count as set-up, those that it reads from its files too."""
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
