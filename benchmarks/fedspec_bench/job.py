"""What one process measures: an implementation, a workload, an algorithm. NumPy and nothing else."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from fedspec_bench.networks import WORKLOADS
from fedspec_bench.workloads import Array, Workload


@dataclass(frozen=True)
class Job:
    """One row of the table.

    Attributes:
        peer: the folder of the implementation.
        variant: which form of it, where there are several.
        workload: the name of the workload.
        algorithm: by its id in the catalogue.
        cores: how many the process is pinned to, and how many threads it may use.
        device: ``cpu`` or ``cuda``.
        cohort: how many clients take part in a round; None: all.
        changes: what differs from the workload as it is named.
    """

    peer: str
    workload: str
    variant: str = ""
    algorithm: str = "fedavg"
    cores: int = 1
    device: str = "cpu"
    cohort: int | None = None
    changes: tuple[tuple[str, Any], ...] = ()

    @property
    def work(self) -> Workload:
        """The workload as changed."""
        changes: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in self.changes
        }
        return replace(WORKLOADS[self.workload], **changes)

    @property
    def name(self) -> str:
        """The implementation and its form."""
        return f"{self.peer}:{self.variant}" if self.variant else self.peer

    def told(self) -> str:
        """The job as text."""
        return json.dumps(asdict(self))


class Trainer(Protocol):
    """What an implementation gives: ``start(job)`` returns it, with everything made that a round does not make."""

    versions: dict[str, str]
    """Of the packages that do the work."""

    def round(self) -> None:
        """Train one round to its end."""
        ...

    def model(self) -> Array:
        """The model as one vector, in the order of :class:`fedspec_bench.workloads.Workload`."""
        ...
