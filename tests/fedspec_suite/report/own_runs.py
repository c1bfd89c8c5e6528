"""The picture of runs that somebody has played in Python, on an own federation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from numbers import Real
from pathlib import Path
from typing import Any

from fedspec.errors import ParameterError
from fedspec_suite.report import picture
from fedspec_suite.report.curves import AGAINST, PANELS
from fedspec_suite.report.unlike import options_of


def draw_runs(
    runs: Mapping[str, Any],
    file: str | Path,
    *,
    against: Sequence[str] = ("rounds", "floats"),
    panels: Sequence[str] | None = None,
    tuned: Collection[str] = (),
    data: str = "own data",
    model: str | None = None,
) -> None:
    """Draw the rounds that runs have played, a line for each name: its median over runs that differ in their seeds.

    Args:
        runs: by name a run of :func:`fedspec_torch.simulate`, or a list of them. What bears an algorithm's id has that
            algorithm's line in every picture; any other name has one of its own.
        file: ``.png``, ``.svg`` or ``.pdf``.
        against: ``rounds``, ``floats``, ``seconds``; what stands across, a column of panels for each.
        panels: ``loss``, ``test_loss``, ``accuracy`` or names of metrics, a row for each; None: what there is of test
            loss and accuracy, or the training loss.
        tuned: the names of those whose settings were tuned for this task; others beside them are marked.
        data: what the data are called in the caption.
        model: what the model is called there; None: the name of its class.

    Raises:
        ParameterError: there are no rounds, or what is asked for is not known of them.
    """
    if not isinstance(runs, Mapping):
        raise ParameterError(f"runs: got {type(runs).__name__}; give them by name, such as {{'fedavg': run}}")
    if unknown := [name for name in tuned if name not in runs]:
        raise ParameterError(f"tuned: {', '.join(unknown)} is none of the runs; there are {', '.join(runs)}")
    each = {name: [*some] if isinstance(some, list | tuple) else [some] for name, some in runs.items()}
    played = [run for some in each.values() for run in some]
    if not played or not all(run.history for run in played):
        empty = [name for name, some in each.items() if not all(run.history for run in some)]
        raise ParameterError(f"runs: no round was played{' by ' + ', '.join(empty) if empty else ''}; play some first")
    if Path(file).suffix.lower() not in picture.KINDS:
        raise ParameterError(f"file: got {str(file)!r}; pictures are written as {', '.join(picture.KINDS)}")
    _check("against", against, [*AGAINST])
    metrics = dict.fromkeys(name for run in played for done in run.history for name in done.metrics)
    if panels is None:
        tested = [
            n for n in ("test_loss", "accuracy") if any(getattr(d, n) is not None for r in played for d in r.history)
        ]
        panels = tested or ["loss"]
    _check("panels", panels, [*PANELS, *metrics])
    records = [_record(name, run) for name, some in each.items() for run in some]
    first = played[0].federation
    task = {"data": data, "model": model or type(first.model).__name__}
    task |= _alike({"clients": len(run.federation), "batch": run.federation.batch_size} for run in played)
    picture.draw(records, task, Path(file), against=against, panels=panels, tuned=tuned)


def _check(what: str, asked: Sequence[str], known: Sequence[str]) -> None:
    if isinstance(asked, str) or not asked:
        raise ParameterError(f"{what}: got {asked!r}; give a list of {', '.join(known)}")
    for name in asked:
        if name not in known:
            raise ParameterError(f"{what}: got {name!r}; known of these runs: {', '.join(known)}")


def _record(name: str, run: Any) -> dict[str, Any]:
    """A run as :func:`picture.draw` reads it."""
    numbers = {f.name: getattr(run.h, f.name) for f in fields(run.h)}
    return {
        "algorithm": name,
        "hyper": {n: v for n, v in numbers.items() if isinstance(v, Real)},
        "options": options_of(run),
        "parameters": len(run.federation.x0),
        "asked": run.rounds,
        "times": [*run.times],
        "rounds": [asdict(done) for done in run.history],
    }


def _alike(tasks: Any) -> dict[str, Any]:
    """What all have alike."""
    first, *others = tasks
    return {n: v for n, v in first.items() if all(other[n] == v for other in others)}
