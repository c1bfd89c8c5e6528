"""Progress line of a command's training: share done, speed, and time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Pace:
    """Counter of the rounds of all runs of a command, which prints its progress.

    Attributes:
        rounds: number of rounds of all runs.
        tell: function that prints a line.
        clock: function that returns a time in seconds.
        done: number of rounds that are done or skipped.
        played: number of rounds that this command has run.
        steps: number of local steps of all clients in these rounds.
    """

    rounds: int
    tell: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    played: int = 0
    steps: int = 0
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.clock()
        self._run: Any = None
        self._before = 0

    def skip(self, rounds: int) -> None:
        """Count rounds that were played before, or that won't be played because their run ended."""
        self.done += rounds

    def play(self, words: str, run: Any, loss: float) -> None:
        """Count a played round, and print the progress."""
        self._before = self._before if run is self._run else 0
        self.steps += run.client_steps - self._before
        self._run, self._before = run, run.client_steps
        self.done, self.played = self.done + 1, self.played + 1
        self.tell(f"{words} round {run.rounds - len(run)} of {run.rounds}, loss {loss:.4f}; {self.said}")

    @property
    def said(self) -> str:
        """Progress of all runs as text."""
        seconds = max(self.clock() - self.since, 1e-9)
        left = (self.rounds - self.done) * seconds / max(1, self.played)
        speed = f"{self.steps / seconds:,.0f} client steps/s"
        return f"{self.done} of {self.rounds} rounds, {speed}, {duration(left)} left"


def duration(seconds: float) -> str:
    """Format a duration in its two largest units of hours, minutes and seconds."""
    whole = round(seconds)
    minutes, s = divmod(whole, 60)
    h, m = divmod(minutes, 60)
    if h:
        return f"{h} h {m} min"
    return f"{m} min {s} s" if m else f"{s} s"
