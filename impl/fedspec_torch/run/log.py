"""Log of a run: a file with one row for each round, written when the round is done."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fedspec.errors import PlanError
from fedspec_torch.run.per_client import STATISTICS

SUFFIXES = (".csv", ".jsonl")
CLIENTS = "clients."
"""First letters of the columns of statistics over clients."""


@dataclass
class Log:
    """Callback that appends a row to the log after each round.

    The first call also writes the earlier rounds, and replaces the content of the file: so after a resumed run each
    round is in the log once, without partial rows of a run that was killed.

    Attributes:
        file: the path, ``.csv`` or ``.jsonl`` (one JSON object a line).
        begun: True if this run has written to the file.
    """

    file: Path
    begun: bool = False

    def __call__(self, run: Any, round: Any) -> None:
        """Write the row of a round; only rank 0 writes.

        Raises:
            OSError: the file can't be written; the run can continue from its state.
        """
        if run.ranks.rank:
            return
        rows = [flat(done) for done in ([round] if self.begun else run.history)]
        own = [f"{CLIENTS}{n}.{s}" for n in ("loss", "accuracy", *run.metrics) for s in STATISTICS]
        plain = (n for n in flat(round) if not n.startswith(CLIENTS))
        told = (*plain, *run.metrics, *(own if run.client_tests is not None else ()))
        names = [*dict.fromkeys((*told, *(n for row in rows for n in row)))]
        text = as_csv(names, rows, head=not self.begun) if self.file.suffix == ".csv" else as_lines(names, rows)
        try:
            if self.begun:
                with self.file.open("a", encoding="utf-8", newline="") as out:
                    out.write(text)
            else:
                write_atomically(self.file, text)
        except OSError as error:
            error.add_note(f"log: round {round.round} could not be written to {self.file}; the run may be saved")
            raise
        self.begun = True


def log_of(file: str | Path | None) -> Log | None:
    """Return the log that writes to this file; None without a file.

    Raises:
        PlanError: the file's suffix is unknown, or the file can't be written at that path.
    """
    if file is None:
        return None
    path = Path(file)
    if path.suffix not in SUFFIXES:
        raise PlanError(f"log: got {str(file)!r}; give a name that ends in {' or '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise PlanError(f"log: the folder {path.parent} doesn't exist; make it first")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PlanError(f"log: {file} cannot be written; give another name")
    return Log(path)


def flat(round: Any) -> dict[str, Any]:
    """Flatten the record of a round: metrics are entries like its other fields, as are statistics over clients.

    A statistic over clients is named as in Python, for example ``clients.accuracy.worst_tenth``.
    """
    told = asdict(round)
    metrics, clients = told.pop("metrics"), told.pop("clients") or {"metrics": {}}
    spreads = clients.pop("metrics") | clients
    own = {f"{CLIENTS}{n}.{s}": of[s] for n, of in spreads.items() if of for s in STATISTICS}
    return {**told, **metrics, **own}


def as_csv(names: Sequence[str], rows: Sequence[Mapping[str, Any]], *, head: bool) -> str:
    """Format rows as CSV; unknown values are empty."""
    text = io.StringIO()
    out = csv.DictWriter(text, names, restval="", lineterminator="\n")
    if head:
        out.writeheader()
    out.writerows({n: v for n, v in row.items() if v is not None} for row in rows)
    return text.getvalue()


def as_lines(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Format rows as JSON lines; unknown, infinite and NaN values are null, which JSON requires."""
    return "".join(json.dumps({n: number(row.get(n)) for n in names}, allow_nan=False) + "\n" for row in rows)


def number(value: Any) -> Any:
    """Return None for NaN and infinities, any other value unchanged."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_atomically(file: Path, text: str) -> None:
    """Write a file atomically: readers see the old content or all of the new.

    Raises:
        OSError: the file can't be written.
    """
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)
