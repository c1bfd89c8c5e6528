"""The runs of ``fedspec simulate``: played to the end or to an interrupt, saved on the way, printed and written."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from fedspec.catalogue import CATALOGUE
from fedspec.errors import FedspecError
from fedspec_suite.report import curves, table

Records = list[dict[str, Any]]
"""Runs as the record has them."""


class PlaceError(FedspecError):
    """A file cannot be written where it is asked for, or read; the message names it."""


@dataclass(frozen=True)
class Places:
    """Where the command writes, and what it goes on with.

    Attributes:
        out: without its suffix, of the picture and the record.
        save: of the run under way; None: nowhere.
        resume: of the run to go on with; None: all begin anew.
        every: seconds between two savings.
        several: whether there are several runs, each with a file of its own.
    """

    out: Path
    save: Path | None
    resume: Path | None
    every: float
    several: bool

    @property
    def written(self) -> tuple[Path, Path]:
        """The picture and the record."""
        return self.out.with_name(self.out.name + ".png"), self.out.with_name(self.out.name + ".json")

    def of(self, file: Path, algorithm: str, seed: int) -> Path:
        """The file of one run: as it was asked for, or where there are several with algorithm and seed in its name."""
        return file.with_stem(f"{file.stem}-{algorithm}-{seed}") if self.several else file

    def check(self) -> None:
        """Make the folder of what is written, before anybody trains for it.

        Raises:
            PlaceError: there is none and none can be made, or a file cannot be written.
        """
        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PlaceError(f"--out {self.out}: cannot make the folder {self.out.parent}: {_why(error)}") from error
        wanted = [("--out", file) for file in self.written]
        wanted += [("--save", self.save)] if self.save else []
        for option, file in wanted:
            if file.is_dir():
                raise PlaceError(f"{option} {file}: a folder; give the name of a file")
            if not file.parent.is_dir():
                raise PlaceError(f"{option} {file}: {file.parent} is no folder; make it first")
            if not os.access(file if file.exists() else file.parent, os.W_OK):
                raise PlaceError(f"{option} {file}: cannot be written; choose another place")


def _why(error: OSError) -> str:
    return f"{error.filename or ''}: {error.strerror}".removeprefix(": ")


def begun(mirror: Any, places: Places, run: Any, seed: int, **more: Any) -> Any:
    """A run as the command asks for it, or as it was saved.

    Raises:
        PlaceError: the file holds a run that this command does not ask for.
        CheckpointError: there is no such file, it is damaged, or the run is of another federation.
    """
    if places.resume is None:
        return run
    file = places.of(places.resume, run.algorithm.id, seed)
    if places.several and not file.exists():
        # The runs that had not begun yet.
        return run
    again = mirror.resume(file, run.federation, **more)
    for what, asked, there in (
        ("algorithm", run.algorithm.id, again.algorithm.id),
        ("settings", run.h, again.h),
        ("schedule", run.plan, again.plan),
    ):
        if asked != there:
            raise PlaceError(
                f"--resume {file}: {what}: saved {there}, asked for {asked}; give the options that it was begun with"
            )
    again.rounds = max(run.rounds, len(again.history))
    return again


Ended = FedspecError | KeyboardInterrupt | None
"""What ended the runs early, if anything did."""


def play_each(runs: Iterable[tuple[Any, dict[str, Any], int]], places: Places, progress: Any) -> tuple[Records, Ended]:
    """Play runs one after another, each with its settings and its seed: their records, and what ended them early.

    After an interrupt the last record is of a run as far as it came; after an error only whole runs count.
    """
    records: Records = []
    try:
        for run, own, seed in runs:
            _play_one(run, own, seed, places, progress, records)
    except KeyboardInterrupt as interrupt:
        return records, interrupt
    except FedspecError as error:
        return [r for r in records if whole(r)], error
    return records, None


def _play_one(run: Any, own: dict[str, Any], seed: int, places: Places, progress: Any, records: Records) -> None:
    """Play a run; its record is added, whatever ends it, where a round was played."""
    before, since = len(run.history), time.perf_counter()
    try:
        play(run, places, seed, progress)
    finally:
        if run.history:
            records.append(told(run, own, seed, time.perf_counter() - since, before))


def whole(record: dict[str, Any]) -> bool:
    """Whether a run was played to its end."""
    return len(record["rounds"]) == int(record["asked"])


def play(run: Any, places: Places, seed: int, progress: Any) -> None:
    """Train to the end, saving now and then.

    Raises:
        KeyboardInterrupt: after saving once more, where the interrupt broke no round off.
        PlaceError: it could not be saved at its end.
    """
    file = None if places.save is None else places.of(places.save, run.algorithm.id, seed)
    saved = time.monotonic()
    try:
        for done in run:
            progress(f"{run.algorithm.id} seed {seed} round {done.round + 1} of {run.rounds} loss {done.loss:.4f}")
            if file and run.ranks.said(time.monotonic() - saved >= places.every):
                # A disk that is full now may have room when the run ends.
                with suppress(PlaceError):
                    _save(run, file)
                saved = time.monotonic()
    except KeyboardInterrupt:
        # The other ranks do not know of it, and saving is done by all together.
        if file and run.whole and run.ranks.size == 1:
            _save(run, file)
        raise
    if file:
        _save(run, file)


def _save(run: Any, file: Path) -> None:
    try:
        run.save(file)
    except OSError as error:
        raise PlaceError(f"--save {file}: cannot be written: {_why(error)}") from error


def told(run: Any, own: dict[str, Any], seed: int, seconds: float, before: int) -> dict[str, Any]:
    """A run as the record has it.

    Args:
        run: as far as it has come.
        own: its hyper-parameters and options.
        seed: what it was drawn from.
        seconds: that the rounds took which this command played.
        before: how many had been played when it was resumed.
    """
    choices = run.federation.choices
    return {
        "algorithm": run.algorithm.id,
        "hyper": own,
        "seed": seed,
        "parameters": len(run.federation.x0),
        "seconds": seconds,
        "resumed": before,
        "asked": run.rounds,
        "way": choices[max(choices)].name if choices else run.federation.way,
        "why": choices[max(choices)].why if choices else "as asked",
        "rounds": [asdict(r) for r in run.history],
    }


def write(places: Places, runs: Sequence[dict[str, Any]], task: dict[str, Any]) -> None:
    """Write the picture and the record.

    Raises:
        PlaceError: one cannot be written.
    """
    picture, record = places.written
    title = "{data}, {model}: {clients} clients, Dirichlet({alpha:g}), steps {steps}, batch {batch}".format(**task)
    try:
        record.write_text(json.dumps({"task": task, "runs": list(runs)}, indent=1) + "\n", encoding="utf-8")
        curves.draw(runs, title, picture)
    except OSError as error:
        raise PlaceError(f"--out {places.out}: cannot be written: {_why(error)}") from error


def show(runs: Sequence[dict[str, Any]], shown: Console) -> None:
    """Print the table."""
    cut = any(len(r["rounds"]) < r["asked"] for r in runs)
    t = table.plain(
        "algorithm", *["rounds"] * cut, "loss", "test loss", "accuracy", "best", "floats sent", "s a round", "settings"
    )
    for name in dict.fromkeys(r["algorithm"] for r in runs):
        same = [r for r in runs if r["algorithm"] == name]
        last = [r["rounds"][-1] for r in same]
        best = [max(one["accuracy"] for one in r["rounds"] if one["accuracy"] is not None) for r in same]
        played = sum(len(r["rounds"]) - r["resumed"] for r in same)
        t.add_row(
            name,
            *[f"{span([len(r['rounds']) for r in same], 'd')} of {same[0]['asked']}"] * cut,
            span([r["loss"] for r in last], ".4g"),
            span([r["test_loss"] for r in last], ".4g"),
            span([r["accuracy"] for r in last], ".3f"),
            span(best, ".3f"),
            f"{last[0]['floats_sent']:,}",
            f"{sum(r['seconds'] for r in same) / played:.3g}" if played else "",
            " ".join(f"{n}={v:g}" if isinstance(v, float) else f"{n}={v}" for n, v in same[0]["hyper"].items()),
        )
    shown.print(t)
    for name in dict.fromkeys(r["algorithm"] for r in runs):
        for said in CATALOGUE[name].aliases.values():
            shown.print(f"{name}: {said}", soft_wrap=True)
    shown.print(f"gradients {runs[0]['way']}: {runs[0]['why']}", soft_wrap=True)


def span(values: Sequence[float], form: str) -> str:
    """One value, or the least and the greatest of several."""
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"
