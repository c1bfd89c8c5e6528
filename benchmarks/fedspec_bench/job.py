"""Job of one benchmark process: an implementation, a workload and an algorithm. Needs only NumPy."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from fedspec_bench.networks import WORKLOADS
from fedspec_bench.workloads import Array, Workload


@dataclass(frozen=True)
class Job:
    """Job: one row of the results table.

    Attributes:
        peer: the folder of the implementation.
        variant: its form, if it has several.
        workload: the name of the workload.
        algorithm: its id in the catalogue.
        cores: number of cores that the process is pinned to, and of its threads.
        device: ``cpu`` or ``cuda``.
        cohort: number of clients in a round; None: all.
        changes: differences from the workload as it is named.
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
        """Workload with the job's changes applied."""
        changes: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in self.changes
        }
        return replace(WORKLOADS[self.workload], **changes)

    @property
    def name(self) -> str:
        """Name of the implementation, with its variant."""
        return f"{self.peer}:{self.variant}" if self.variant else self.peer

    def told(self) -> str:
        """Return the job as JSON."""
        return json.dumps(asdict(self))


class Trainer(Protocol):
    """Implementation that is ready to train; its module's ``start(job)`` makes it, and ``round`` is then timed."""

    versions: dict[str, str]
    """Versions of the packages that do the computation."""

    def round(self) -> None:
        """Train one round to its end."""
        ...

    def model(self) -> Array:
        """Return the model as one vector, in the order of :class:`fedspec_bench.workloads.Workload`."""
        ...
