"""Execution of ``fedspec simulate``'s runs: play, save, resume, print and write them."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from fedspec.catalogue import CATALOGUE
from fedspec.errors import FedspecError
from fedspec_suite.measure.interrupts import patient
from fedspec_suite.report.terminal import complaints, table
from fedspec_train.report import picture as pictures
from fedspec_train.report.option_differences import options_of, unlike
from fedspec_train.report.progress import Pace

Records = list[dict[str, Any]]
"""Runs in the form of the JSON record."""


OTHERS = (".jpg", ".jpeg", ".gif", ".eps", ".ps", ".tif", ".tiff", ".webp", ".bmp")
"""Suffixes of unsupported picture formats; any other suffix is part of the name, as in ``eta-0.1``."""


class PlaceError(FedspecError):
    """Error: a file can't be written or resumed from as an option asks; the message names the option and the file."""


@dataclass(frozen=True)
class Places:
    """Files that the command writes and resumes from.

    Attributes:
        out: path of the picture, if it has a picture's suffix, or of the record; without a suffix, of both.
        save: path of the saved run; None: runs aren't saved.
        resume: path of the run to resume; None: every run begins at round 0.
        every: seconds between two savings of a run.
        several: True if there are several runs, each with its own file.
        log: path of the log of every round; None: no log.
    """

    out: Path
    save: Path | None
    resume: Path | None
    every: float
    several: bool
    log: Path | None = None

    @property
    def written(self) -> tuple[Path, Path]:
        """Paths of the picture and of the record."""
        kind = self.out.suffix.lower()
        if kind in (*pictures.KINDS, ".json"):
            return self.out.with_suffix(".png") if kind == ".json" else self.out, self.out.with_suffix(".json")
        return self.out.with_name(self.out.name + ".png"), self.out.with_name(self.out.name + ".json")

    def of(self, file: Path, algorithm: str, seed: int) -> Path:
        """Return the path of one run: ``file``, or, with several runs, with algorithm and seed in its name."""
        return file.with_stem(f"{file.stem}-{algorithm}-{seed}") if self.several else file

    def check_resumed(self, asked: Iterable[tuple[str, int]]) -> list[str]:
        """Return names of the runs that have no file to resume from.

        Raises:
            PlaceError: none of the runs has a file.
        """
        if not self.resume or not self.several:
            return []
        files = {f"{name}, seed {seed}": self.of(self.resume, name, seed) for name, seed in asked}
        lost = [words for words, file in files.items() if not file.exists()]
        if len(lost) == len(files):
            said = ", ".join(map(str, files.values()))
            raise PlaceError(f"--resume {self.resume}: these files don't exist: {said}; give the name that --save had")
        return lost

    def check(self) -> None:
        """Make the output folder, and raise an error if a file can't be written, before training starts.

        Raises:
            PlaceError: the folder can't be made, a file can't be written, or the picture's format is unknown.
        """
        if self.out.suffix.lower() in OTHERS:
            kinds = ", ".join(pictures.KINDS)
            raise PlaceError(f"--out {self.out}: a picture must end in one of {kinds}; give such a name")
        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PlaceError(
                f"--out {self.out}: cannot make the folder {self.out.parent}: {write_error(error)}"
            ) from error
        wanted = [("--out", file) for file in self.written]
        wanted += [("--save", self.save)] if self.save else []
        if self.log and self.log.suffix not in (".csv", ".jsonl"):
            raise PlaceError(f"--log {self.log}: give a name that ends in .csv or .jsonl")
        wanted += [("--log", self.log)] if self.log else []
        for option, file in wanted:
            if file.is_dir():
                raise PlaceError(f"{option} {file}: it is a folder; give the name of a file")
            if not file.parent.is_dir():
                raise PlaceError(f"{option} {file}: the folder {file.parent} doesn't exist; make it first")
            if not os.access(file if file.exists() else file.parent, os.W_OK):
                raise PlaceError(f"{option} {file}: cannot be written; choose another place")


def write_error(error: OSError) -> str:
    """Format why a file can't be written."""
    return f"{error.filename or ''}: {error.strerror}".removeprefix(": ")


def begun(mirror: Any, places: Places, run: Any, seed: int, *, tuned: bool = False, **more: Any) -> Any:
    """Return the run, resumed from its saved file if the command resumes.

    Args:
        mirror: the package ``fedspec_torch``.
        places: the files of the command.
        run: the run at its beginning.
        seed: the seed of the run.
        tuned: True if a grid search precedes the run, so that the saved file may hold only the search.
        more: arguments of ``resume`` that the file doesn't contain.

    Raises:
        PlaceError: the file holds a run other than the command's.
        CheckpointError: the file doesn't exist or is damaged, or its run has another federation.
    """
    if places.resume is None:
        return run
    file = places.of(places.resume, run.algorithm.id, seed)
    if (places.several or tuned) and not file.exists():
        # The runs that had not begun yet.
        return run
    again, other = mirror.resume(file, run.federation, **more), import_module("fedspec_torch.run.agreement").unlike
    for what, asked, there in (
        ("algorithm", run.algorithm.id, again.algorithm.id),
        ("settings", run.h, again.h),
        ("schedule", run.plan, again.plan),
    ):
        if asked != there:
            raise PlaceError(f"--resume {file}: {what}: {other(there, asked)}; give the options of the saved run")
    if len(again.history) > run.rounds:
        played = len(again.history)
        raise PlaceError(f"--resume {file}: {played} rounds are done; give --rounds {played} or more")
    again.rounds = run.rounds
    return again


Ended = FedspecError | KeyboardInterrupt | None
"""Error or interrupt that ended the runs early."""


class DivergedRunsError(FedspecError):
    """Error: some runs diverged; the message says which and in which round.

    Attributes:
        count: number of runs that diverged.
    """

    def __init__(self, said: Sequence[str]) -> None:
        super().__init__("; ".join(said))
        self.count = len(said)


def play_each(
    runs: Iterable[tuple[Any, dict[str, Any], int]], places: Places, pace: Pace
) -> tuple[Records, Ended, DivergedRunsError | None]:
    """Play runs one after another, each with its settings and its seed.

    After an interrupt the last record is of a run as far as it came; after an error only whole runs count. One that
    diverges ends by itself, and the others are played.

    Returns:
        their records, what ended them early, and which have diverged until then.
    """
    of_mirror, records, diverged = import_module("fedspec_torch"), list[dict[str, Any]](), list[str]()
    ended: Ended = None
    try:
        for run, own, seed in runs:
            try:
                _play_one(run, own, seed, places, pace, records)
            except of_mirror.DivergedError as error:
                diverged.append(f"{run.algorithm.id}, seed {seed}: {error}")
                records[:] = filter(whole, records)
    except KeyboardInterrupt as interrupt:
        ended = interrupt
    except FedspecError as error:
        ended = error
        records[:] = filter(whole, records)
    return records, ended, DivergedRunsError(diverged) if diverged else None


def _play_one(run: Any, own: dict[str, Any], seed: int, places: Places, pace: Pace, records: Records) -> None:
    """Run one algorithm; its record is added even after an error, if at least one round was done."""
    before = len(run.history)
    try:
        play(run, places, seed, pace)
    finally:
        if run.history:
            records.append(run_record(run, own, seed, before))


def whole(record: dict[str, Any]) -> bool:
    """True if a run was played to its end."""
    return len(record["rounds"]) == int(record["asked"])


def play(run: Any, places: Places, seed: int, pace: Pace) -> None:
    """Play a run to its end, and save it every ``places.every`` seconds.

    Raises:
        KeyboardInterrupt: after the round, once the run is saved again; a second interrupt stops the round at once.
        PlaceError: the run couldn't be saved at its end.
    """
    file = None if places.save is None else places.of(places.save, run.algorithm.id, seed)
    saved = time.monotonic()
    pace.skip(len(run.history))
    try:
        # A round that is under way is worth its end; who interrupts again has the run as it was before it.
        while len(run):
            with patient(_patience) if file and run.ranks.size == 1 else nullcontext():
                done = run.step()
                pace.play(f"{run.algorithm.id} seed {seed}", run, done.loss)
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


def _patience() -> None:
    complaints().print("fedspec: ends after this round, which is then saved; interrupt again to end at once")


def _save(run: Any, file: Path) -> None:
    try:
        run.save(file)
    except OSError as error:
        raise PlaceError(f"--save {file}: cannot be written: {write_error(error)}") from error


def run_record(run: Any, own: dict[str, Any], seed: int, before: int) -> dict[str, Any]:
    """Return a run in the form of the JSON record.

    Args:
        run: the run, finished or not.
        own: the run's hyper-parameters and options.
        seed: the seed of the run.
        before: number of rounds that were done when the run was resumed.
    """
    choices = run.federation.choices
    return {
        "algorithm": run.algorithm.id,
        "hyper": own,
        "options": options_of(run),
        "seed": seed,
        "parameters": len(run.federation.x0),
        "seconds": sum(run.times),
        "times": [*run.times],
        "resumed": before,
        "asked": run.rounds,
        "way": choices[max(choices)].name if choices else run.federation.way,
        "why": choices[max(choices)].why if choices else "as asked",
        "rounds": [{n: v for n, v in asdict(r).items() if n != "clients" or v} for r in run.history],
        **({"privacy": _privacy(run)} if "noise" in run.algorithm.takes else {}),
    }


def _privacy(run: Any) -> str:
    """Guarantee of a run that adds noise, or the reason why none is known."""
    try:
        return f"{import_module('fedspec_torch').privacy(run)}"
    except FedspecError as error:
        return f"{error}"


def write(
    places: Places,
    runs: Sequence[dict[str, Any]],
    task: dict[str, Any],
    tuning: dict[str, Any] | None = None,
    **look: Any,
) -> None:
    """Write the picture and the JSON record.

    Raises:
        PlaceError: a file can't be written.
    """
    picture, record = places.written
    try:
        content = {"task": task, "runs": list(runs)} | ({"tuning": tuning} if tuning else {})
        record.write_text(json.dumps(plain(content), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        pictures.draw(runs, task, picture, **look)
    except OSError as error:
        raise PlaceError(f"--out {places.out}: cannot be written: {write_error(error)}") from error


def plain(value: Any) -> Any:
    """Replace numbers that are not finite by null, since JSON has none."""
    match value:
        case dict():
            return {n: plain(v) for n, v in value.items()}
        case list() | tuple():
            return [plain(v) for v in value]
        case np.ndarray():
            return plain(value.tolist())
        case float() if not math.isfinite(value):
            return None
    return value


def show(runs: Sequence[dict[str, Any]], shown: Console) -> None:
    """Print the table of runs."""
    cut = any(len(r["rounds"]) < r["asked"] for r in runs)
    own = ("mean of clients", "worst tenth") if any("clients" in r["rounds"][-1] for r in runs) else ()
    head = ("algorithm", *["rounds"] * cut, "loss", "test loss", "accuracy", "best", *own)
    t = table(*head, "floats sent", "s a round", "settings")
    for name in dict.fromkeys(r["algorithm"] for r in runs):
        same = [r for r in runs if r["algorithm"] == name]
        last = [r["rounds"][-1] for r in same]
        shares = [[one["accuracy"] for one in r["rounds"] if one["accuracy"] is not None] for r in same]
        timed = sum(len(r["times"]) for r in same)
        t.add_row(
            same[0].get("label", name),
            *[f"{span([len(r['rounds']) for r in same], 'd')} of {same[0]['asked']}"] * cut,
            span([r["loss"] for r in last], ".4g"),
            span([r["test_loss"] for r in last], ".4g"),
            *[span([end(some) for some in shares], ".3f") if all(shares) else "" for end in (_last, max)],
            *[span([_by_client(r)[n] for r in last], ".3f") for n in ("mean", "worst_tenth") if own],
            f"{last[0]['floats_sent']:,}",
            f"{sum(r['seconds'] for r in same) / timed:.3g}" if timed else "",
            " ".join(f"{n}={v:g}" if isinstance(v, float) else f"{n}={v}" for n, v in same[0]["hyper"].items()),
        )
    shown.print(t)
    for name in dict.fromkeys(r["algorithm"] for r in runs):
        for other, said in CATALOGUE[name].aliases.items():
            shown.print(f"{name}, also {other}: {said}", soft_wrap=True)
    for name, said in dict.fromkeys((r["algorithm"], r["privacy"]) for r in runs if "privacy" in r):
        shown.print(f"{name}: {said}", soft_wrap=True)
    for said in unlike(runs):
        shown.print(f"not alike for all: {said}", soft_wrap=True)
    shown.print(f"gradients {runs[0]['way']}: {runs[0]['why']}", soft_wrap=True)


def _by_client(done: dict[str, Any]) -> dict[str, float]:
    """Statistics of the accuracy over clients, or of the loss if there are no classes."""
    found: dict[str, float] = done["clients"]["accuracy"] or done["clients"]["loss"]
    return found


def _last(values: Sequence[float]) -> float:
    return values[-1]


def span(values: Sequence[float], form: str) -> str:
    """Format a value, or the smallest and the largest of several."""
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"
