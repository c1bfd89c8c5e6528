"""Cases that the seed alone decides about.

Hypothesis draws now and then a number that it read in the source of a module which is not installed
(``internal/conjecture/providers.py``). So the cases of a seed would differ between a clone and a wheel, and with
whatever stands in the files of who judges. No setting turns that off.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from hypothesis.internal.conjecture import providers


class _Without:
    """How many blocks are running, and the replacement that ends with the last of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running = 0
        self.patches: list[Any] = []
        # A Hypothesis that calls it otherwise still judges; the test of this file then says that cases are its own.
        if hasattr(providers, "_get_local_constants"):
            # What was kept for others holds their constants, and what is kept here holds none.
            kept = type(providers.CONSTANTS_CACHE)(1024)
            none = vars(providers)["Constants"]
            self.patches += [mock.patch.multiple(providers, _get_local_constants=none, CONSTANTS_CACHE=kept)]


_without = _Without()


@contextmanager
def not_local() -> Iterator[None]:
    """Draw no constant of a local module while the block runs, in any thread; draw them again afterwards."""
    with _without.lock:
        if _without.running == 0:
            for patch in _without.patches:
                patch.start()
        _without.running += 1
    try:
        yield
    finally:
        with _without.lock:
            _without.running -= 1
            if _without.running == 0:
                for patch in _without.patches:
                    patch.stop()
