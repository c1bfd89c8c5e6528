"""Results of a measured job, and whether its figures count."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median, quantiles
from typing import Any

from fedspec_bench.job import Job

TOLERANCE = 1e-3
"""Allowed difference of a loss from the reference's, as a share of the reference's decrease of the loss."""


@dataclass(frozen=True)
class Row:
    """Measured figures of one job.

    Attributes:
        job: the job.
        seconds: seconds of every timed round.
        cpu: processor time of the process alone, without processes that it started.
        steps: client-steps of every timed round.
        first: processor time of the process alone in its first round, which chooses, compiles or starts others.
        loss: loss of its last model.
        setup_bytes: the memory held before the first round.
        peak_bytes: the most memory held from there until the end.
        versions: versions of its packages.
        notes: its own notes.
        error: the first line of what stopped it.
        void: reason why its figures do not count.
    """

    job: Job
    seconds: tuple[float, ...] = ()
    cpu: tuple[float, ...] = ()
    steps: tuple[int, ...] = ()
    first: float = 0.0
    loss: float | None = None
    setup_bytes: int = 0
    peak_bytes: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    void: str = ""

    @property
    def counts(self) -> bool:
        """True if the row's figures are valid."""
        return bool(self.seconds) and not self.void and not self.error

    @property
    def rates(self) -> list[float]:
        """Client-steps per second of every timed round."""
        return [n / s for n, s in zip(self.steps, self.seconds, strict=True)]

    @property
    def rate(self) -> float:
        """Median of the rates."""
        return median(self.rates)

    @property
    def spread(self) -> float:
        """Interquartile range of the rates over their median."""
        if len(self.rates) < 2:
            return 0.0
        low, _, high = quantiles(self.rates, n=4)
        return (high - low) / self.rate

    @property
    def begun(self) -> float:
        """CPU time of the first round beyond a median round, in units of a median round."""
        return self.first / median(self.cpu) - 1 if self.cpu else 0.0

    @property
    def disturbed(self) -> bool:
        """True if a job on one core waited for other processes for over a tenth of its time."""
        return self.job.cores == 1 and self.job.peer != "flower" and median(self.cpu) < 0.9 * median(self.seconds)

    def told(self) -> str:
        """Return the row as a line of text."""
        words = f"{self.job.workload} {self.job.name} {self.job.algorithm}"
        return f"{words}: {self.rate:.4g} client-steps/s" if self.counts else f"{words}: {self.error or self.void}"

    def data(self) -> dict[str, Any]:
        """Return the row as JSON data."""
        out = asdict(self)
        if self.counts:
            out |= {"rate": self.rate, "spread": self.spread, "disturbed": self.disturbed}
        return out


def verdict(loss: float, reference: float | None, start: float) -> str:
    """Return why a row with this loss is void; "" if it is valid.

    Args:
        loss: loss of the row's last model.
        reference: loss of the specification's last model; None: it did not run.
        start: loss of the initial model.
    """
    if reference is None:
        return "no reference ran, so nothing says that it computes the same"
    if not abs(loss - reference) <= TOLERANCE * abs(start - reference):
        return f"ends with loss {loss:.6g}, the specification with {reference:.6g}: another computation"
    return ""
