"""Measurement of a group of jobs: set up and warm up all, time them in turns, then compare their models' losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from fedspec_bench.algorithms import client_steps
from fedspec_bench.job import Job
from fedspec_bench.processes import Worker, WorkerError
from fedspec_bench.rows import Row, verdict


@dataclass(frozen=True)
class Effort:
    """Numbers of warm-up rounds, turns and timed rounds of a group of jobs.

    Attributes:
        warm: rounds that are not timed.
        repetitions: number of turns of each job.
        rounds: timed rounds in a turn.
    """

    warm: int
    repetitions: int
    rounds: int


def measured(jobs: Sequence[Job], effort: Effort, pythons: Mapping[str, str], say: Callable[[str], None]) -> list[Row]:
    """Measure jobs on one workload; a row whose loss differs from the specification's is void.

    Args:
        jobs: the jobs; for each algorithm one of them is the specification.
        effort: number of runs.
        pythons: the interpreter of each implementation, or what kept its environment from being made after "error: ".
        say: told what takes time.
    """
    rows: dict[Job, Row] = {}
    workers: dict[Job, Worker] = {}
    try:
        for job in jobs:
            python = pythons[job.peer]
            if python.startswith("error: "):
                rows[job] = Row(job, error=python.removeprefix("error: "))
                continue
            say(f"{job.workload}: setting up {job.name} {job.algorithm}")
            try:
                workers[job] = Worker(job, python)
                first = workers[job].rounds(effort.warm)["cpu"][0]
                rows[job] = Row(job, versions=workers[job].versions, first=first)
            except WorkerError as error:
                rows[job] = Row(job, error=str(error))
        for turn in range(effort.repetitions):
            say(f"{jobs[0].workload}: repetition {turn + 1} of {effort.repetitions}")
            first = effort.warm + turn * effort.rounds
            for job, worker in workers.items():
                if not rows[job].error:
                    rows[job] = _timed(rows[job], worker, range(first, first + effort.rounds))
        for job, worker in workers.items():
            if not rows[job].error:
                rows[job] = _ended(rows[job], worker)
    finally:
        for worker in workers.values():
            worker.close()
    return judged(list(rows.values()))


def _timed(row: Row, worker: Worker, numbers: range) -> Row:
    try:
        told = worker.rounds(len(numbers))
    except WorkerError as error:
        return replace(row, error=str(error))
    steps = tuple(client_steps(row.job, number) for number in numbers)
    return replace(
        row, seconds=row.seconds + tuple(told["seconds"]), cpu=row.cpu + tuple(told["cpu"]), steps=row.steps + steps
    )


def _ended(row: Row, worker: Worker) -> Row:
    try:
        model, told = worker.end()
    except WorkerError as error:
        return replace(row, error=str(error))
    return replace(
        row,
        loss=row.job.work.loss(model),
        setup_bytes=told["setup_bytes"],
        peak_bytes=told["peak_bytes"],
        notes=told["notes"],
    )


def judged(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, void unless their loss equals the specification's on the same work."""

    def work(row: Row) -> str:
        return replace(row.job, peer="", variant="", cores=0, device="").told()

    references = {work(row): row.loss for row in rows if row.job.peer == "spec" and row.loss is not None}
    starts = {row.job.workload: row.job.work.loss(row.job.work.start) for row in rows}
    return [
        row
        if row.loss is None
        else replace(row, void=verdict(row.loss, references.get(work(row)), starts[row.job.workload]))
        for row in rows
    ]
