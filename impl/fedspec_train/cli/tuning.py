"""``fedspec simulate --tune``: search an algorithm's grid before it trains, and print the result."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from fedspec.entry import Algorithm
from fedspec_suite.report.terminal import table
from fedspec_train.cli.settings import Shape, falling
from fedspec_train.cli.training import PlaceError, Places, write_error
from fedspec_train.report import captions
from fedspec_train.report.progress import Pace


@dataclass(frozen=True)
class Question:
    """Settings of the grid search of one algorithm, and of its training afterwards.

    Attributes:
        row: the algorithm.
        reading: the reading of the algorithm; None: the canonical one.
        given: hyper-parameters and options that stay fixed.
        grid: the values to try, by name.
        rounds: number of rounds of each run.
        shape: schedule of eta_l over rounds; None: it is constant.
        by: the score on held-out data: ``loss`` or ``accuracy``.
        seed: seed from which the held-out data are drawn.
        seeds: number of runs of each combination.
    """

    row: Algorithm
    reading: str | None
    given: Mapping[str, Any]
    grid: Mapping[str, tuple[Any, ...]]
    rounds: int
    shape: Shape | None
    by: str
    seed: int
    seeds: int


def found(mirror: Any, asked: Question, federation: Any, plan: Any, places: Places, pace: Pace) -> Any:
    """Run the grid search, resuming from its record if the command resumes.

    Raises:
        PlaceError: the record of the grid search is missing, or can't be written.
        FedspecError: the mirror rejects the grid or the record, or every combination diverged.
    """

    def rates(numbers: Mapping[str, Any]) -> Any:
        return falling(dict(numbers), asked.shape)[1]

    def tell(run: Any, done: Any) -> None:
        pace.play(f"{asked.row.id} tried", run, done.loss)

    before = pace.played
    resume = None if places.resume is None else _record(places.resume, asked.row.id)
    if resume is not None and not resume.exists():
        assert places.resume is not None
        there = places.of(places.resume, asked.row.id, asked.seed).exists()
        if there or not places.several:
            gone = f"{resume} is gone, which says what was tuned" if there else f"no such file, nor {resume}"
            raise PlaceError(f"--resume {places.resume}: {gone}; begin anew")
        resume = None
    try:
        tuning = mirror.tune(
            asked.row.id,
            federation,
            plan=plan,
            grid=asked.grid,
            rounds=asked.rounds,
            by=asked.by,
            reading=asked.reading,
            rates=rates,
            seed=asked.seed,
            seeds=asked.seeds,
            save=_record(places.save, asked.row.id) if places.save else None,
            resume=resume,
            on_round=tell,
            **asked.given,
        )
    except OSError as error:
        raise PlaceError(f"--save {places.save}: what was tuned cannot be written: {write_error(error)}") from error
    # Those that were tried before, and those that diverged.
    pace.skip(asked.rounds * asked.seeds * len(tuning.trials) - (pace.played - before))
    return tuning


def _record(file: Path, algorithm: str) -> Path:
    """File of the trials, beside the saved runs."""
    return file.with_name(f"{file.stem}-{algorithm}-tuning.json")


def tuning_record(tuning: Any) -> dict[str, Any]:
    """Return the result of a grid search in the form of the JSON record."""
    found = {name: value for name, value in asdict(tuning).items() if name != "rates"}
    return found | {"at_edge": list(tuning.at_edge)}


def show(findings: Mapping[str, Any], shown: Console) -> None:
    """Print for each algorithm the tried combinations and the chosen one."""
    for name, tuning in findings.items():
        t = table(name, *tuning.grid, f"{tuning.by} on what is held out", "")
        for trial in tuning.trials:
            chosen = dict(trial.settings) == dict(tuning.choice)
            score = "diverged" if trial.score is None else format(trial.score, ".4g")
            t.add_row("", *map(str, trial.settings.values()), score, "chosen" if chosen else "")
        shown.print(t)
        last = "the last round" if tuning.judged == 1 else f"mean of the last {tuning.judged} rounds"
        last += f" and {tuning.seeds} seeds" * (tuning.seeds > 1)
        edge = f"; at the edge of the grid: {', '.join(tuning.at_edge)}" if tuning.at_edge else ""
        shown.print(f"{name}: held out {tuning.held_out}, of seed {tuning.seed}; {last}{edge}", soft_wrap=True)


def mark(runs: Sequence[dict[str, Any]], findings: Mapping[str, Any]) -> None:
    """Add to each run its tuned settings, and a label that marks algorithms that weren't tuned."""
    for run in runs:
        tuning = findings.get(run["algorithm"])
        run["tuned"] = [*tuning.grid] if tuning else []
        run["label"] = captions.name(run["algorithm"], findings, findings)


def summed_up(runs: Sequence[dict[str, Any]], findings: Mapping[str, Any], sources: Collection[str] = ()) -> str:
    """Describe whether the runs' settings were given, default or tuned.

    Args:
        runs: the runs, as in the JSON record.
        findings: the results of the grid searches, by algorithm.
        sources: the sources of the settings: "given", "usual" or both.
    """
    if not findings:
        words = {("given",): "as given", ("given", "usual"): "as given or usual"}
        return f"settings are {words.get(tuple(sorted(sources)), 'usual ones')}, not tuned"
    named = dict.fromkeys(r["algorithm"] for r in runs)
    tuned = "; ".join(f"{', '.join(t.grid)} of {name}" for name, t in findings.items())
    others = [name for name in named if name not in findings]
    seeds = len({r["seed"] for r in runs})
    first = next(iter(findings.values()))
    alone = f" on seed {first.seed} alone" if seeds > 1 and first.seeds == 1 else ""
    not_tuned = f"; not tuned, so no match for those that are: {', '.join(others)}" if others else ""
    return f"tuned{alone}: {tuned}; other settings are as given or usual, not tuned{not_tuned}"
