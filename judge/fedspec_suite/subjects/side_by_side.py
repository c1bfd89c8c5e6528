"""Environments that are made while something else goes on, some at a time; all of it ends with the block."""

from __future__ import annotations

import os
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from fedspec_suite.subjects import environments
from fedspec_suite.subjects.environments import Environment

ABREAST = max(2, min(4, os.cpu_count() or 1))
"""How many are made at a time: fetching waits for others, unpacking needs a processor."""


def missing(names: Iterable[str]) -> dict[str, Environment]:
    """Of those names that are bundled ones: what must be made before they can be asked."""
    known = environments.bundled()
    return {n: known[n].environment for n in names if n in known and not known[n].environment.is_ready}


@contextmanager
def made(
    wanted: Iterable[Environment], progress: Callable[[str], None]
) -> Iterator[Mapping[Environment, Future[Path]]]:
    """Begin to make environments, each once and in this order; the block finds there what becomes of each.

    Args:
        wanted: what is to be made.
        progress: told, in one line each, what takes time; also by other threads.
    """
    stop = threading.Event()
    # The first call fills a table by which uv finds itself, and another thread would read half of it.
    sysconfig.get_config_vars()
    with ThreadPoolExecutor(ABREAST, thread_name_prefix="environment") as pool:
        try:
            yield {e: pool.submit(e.made, progress, stop) for e in dict.fromkeys(wanted)}
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def in_order(names: Iterable[str], progress: Callable[[str], None]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Each name with what waits for its environment, or raises what kept it from being made; all are begun at once."""
    names = list(names)
    wanted = missing(names)
    with made(wanted.values(), progress) as making:
        yield from ((name, making[wanted[name]].result if name in wanted else lambda: None) for name in names)
