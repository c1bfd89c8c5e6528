"""Worker processes that share tasks; results come as they arrive, and no worker outlives the judge."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from fedspec_suite.measure.interrupts import blocked, deferred, terminable

Task = TypeVar("Task")
Result = TypeVar("Result")

_PATIENCE = 5.0
"""Seconds in which a worker may stop its subject."""

BEAT = 0.2
"""Seconds between two questions whether there is another task."""


@dataclass
class _Worker(Generic[Task]):
    process: Any
    connection: Connection
    task: Task | None = None
    given: int = 0


def run_tasks(
    work: Callable[[Task], Iterator[Result]],
    lost: Callable[[Task, int, str], Iterator[Result]],
    tasks: Iterable[Task | None],
    jobs: int,
) -> Iterator[Result]:
    """Run tasks in several processes and yield their results as they arrive.

    Args:
        work: gives the results of a task; it goes to other processes, as do tasks and results.
        lost: results for a task whose worker died, from the task, the number of results so far and the reason.
        tasks: tasks in order; None if the next one is not known yet.
        jobs: number of processes.
    """
    context = multiprocessing.get_context("spawn")
    source, more = iter(tasks), True
    waiting: deque[Task] = deque()
    workers: list[_Worker[Task]] = []
    try:
        while True:
            # To ask what comes next may take seconds, so it is done when nothing waits for a worker.
            fresh = list(islice(source, 1)) if more and not waiting else []
            more = more and (bool(fresh) or bool(waiting))
            waiting.extend(task for task in fresh if task is not None)
            for worker in workers:
                if worker.task is None:
                    _hand(worker, waiting)
            while waiting and len(workers) < jobs:
                with deferred():
                    workers.append(_begin(context, work))
                _hand(workers[-1], waiting)
            if not more and all(worker.task is None for worker in workers):
                return
            # A task that is there already is begun before anything is waited for.
            patience = BEAT if fresh == [None] else 0 if fresh else None
            for connection in wait([w.connection for w in workers], patience):
                worker = next(w for w in workers if w.connection is connection)
                try:
                    result: Result | None = worker.connection.recv()
                except (EOFError, OSError):
                    workers.remove(worker)
                    worker.process.join(_PATIENCE)
                    _stop([worker])
                    if worker.task is not None:
                        reason = f"the judge's own process ended (exit code {worker.process.exitcode})"
                        yield from lost(worker.task, worker.given, reason)
                    continue
                if result is None:
                    _hand(worker, waiting)
                    continue
                worker.given += 1
                yield result
    finally:
        _stop(workers)


def _begin(context: Any, work: Callable[[Task], Iterator[Result]]) -> _Worker[Task]:
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, work), daemon=True)
    # The terminal interrupts the workers too, which are told by the judge instead.
    with blocked(signal.SIGINT):
        process.start()
    theirs.close()
    return _Worker(process, ours)


def _hand(worker: _Worker[Task], waiting: deque[Task]) -> None:
    worker.task, worker.given = waiting.popleft() if waiting else None, 0
    # One that has died meanwhile is found when it is listened to.
    with suppress(OSError):
        if worker.task is not None:
            worker.connection.send(worker.task)


def _stop(workers: list[_Worker[Task]]) -> None:
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        worker.process.join(_PATIENCE)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.connection.close()
    workers[:] = []


def _work(connection: Connection, work: Callable[[Any], Iterator[Any]]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
    with suppress(EOFError, OSError, KeyboardInterrupt), terminable():
        threading.Thread(target=_follow, daemon=True).start()
        while True:
            for result in work(connection.recv()):
                connection.send(result)
            connection.send(None)


def _follow() -> None:
    """End with the judge, even where it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_PATIENCE)
        os.kill(os.getpid(), signal.SIGKILL)
