"""Log of a tuning's trials: a file written after each trial, from which a later tuning can resume."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fedspec.parsing import parse_json
from fedspec_torch.federation.federation import Federation
from fedspec_torch.federation.fingerprints import digested, external_values
from fedspec_torch.run.agreement import fingerprint
from fedspec_torch.run.checkpoints import CheckpointError
from fedspec_torch.run.log import write_atomically

FORMAT = 2
"""Version of the file layout; version 2 added each seed's score."""


@dataclass(frozen=True)
class Trial:
    """Result of training one combination of a grid.

    Attributes:
        settings: the combination: a value of the grid for each name.
        score: the score on held-out data, a mean over seeds; None: a run diverged or was stopped.
        diverged: description of the divergence; empty: no run diverged.
        rounds: number of rounds that were run.
        scores: the score of each seed, up to the first run without a score.
    """

    settings: Mapping[str, Any]
    score: float | None
    diverged: str
    rounds: int
    scores: tuple[float, ...] = ()


@dataclass
class Trials:
    """Trials of a tuning so far, with the description that a resumed tuning must match.

    Attributes:
        question: everything on which the result depends, as :func:`question_record` returns it.
        file: the file of the log; None: no file.
        done: the finished trials.
    """

    question: Mapping[str, Any]
    file: Path | None
    done: list[Trial] = field(default_factory=list)

    @classmethod
    def begun(cls, question: Mapping[str, Any], save: str | Path | None, resume: str | Path | None) -> Trials:
        """Begin a tuning's log: empty, or with the trials of the file ``resume``.

        Raises:
            CheckpointError: the file can't be read, or belongs to another tuning.
            OSError: the file can't be written.
        """
        trials = cls(question, Path(save) if save else None, read(Path(resume), question) if resume else [])
        trials.write()
        return trials

    def of(self, settings: Mapping[str, Any]) -> Trial | None:
        """Return the trial of a combination, or None."""
        return next((t for t in self.done if dict(t.settings) == dict(settings)), None)

    def add(self, trial: Trial) -> None:
        """Add a trial, and write the file.

        Raises:
            OSError: the file can't be written.
        """
        self.done.append(trial)
        self.write()

    def write(self) -> None:
        """Write the trials so far to the file, atomically.

        Raises:
            OSError: the file can't be written.
        """
        if self.file is None:
            return
        content = {"fedspec-tuning": FORMAT, "question": self.question, "trials": [asdict(t) for t in self.done]}
        write_atomically(self.file, json.dumps(content, indent=1, allow_nan=False) + "\n")


def read(file: Path, question: Mapping[str, Any]) -> list[Trial]:
    """Read the trials of a file, after checking that it belongs to the same tuning.

    Raises:
        CheckpointError: the file isn't a log of trials, or belongs to another tuning; the message names the difference.
    """
    try:
        found = parse_json(file.read_text(encoding="utf-8"))
        if found["fedspec-tuning"] != FORMAT:
            raise ValueError(f"format {found['fedspec-tuning']}, here {FORMAT}")
        there, trials = found["question"], [Trial(**{**t, "scores": tuple(t["scores"])}) for t in found["trials"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{file}: not a readable record of a tuning ({error}); tune anew") from error
    for what, now in question.items():
        if there.get(what) != now:
            raise CheckpointError(
                f"{file}: {what}: tuned with {there.get(what)}, but now asked for {now}; give the former value, or "
                "tune anew"
            )
    return trials


def question_record(question: Mapping[str, Any], plan: Any, federation: Federation, examples: Any) -> dict[str, Any]:
    """Everything that the result of a tuning depends on, as JSON data.

    Args:
        question: the settings of the tuning, as words and numbers.
        plan: the schedule of the runs.
        federation: the federation from which the held-out data are drawn.
        examples: the held-out data.
    """
    content = {
        **question,
        "schedule": re.sub(" at 0x[0-9a-f]+", "", repr(plan)),
        "held out examples": digested(external_values(examples))[0],
        "initial model": digested(external_values(federation.x0))[0],
        "federation": {n: v for n, v in fingerprint(federation).items() if v is not None},
    }
    as_json: dict[str, Any] = json.loads(json.dumps(content))
    return as_json
