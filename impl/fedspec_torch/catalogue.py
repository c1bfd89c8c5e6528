"""What runs an algorithm: the specification's functions as they stand, on a population in blocks.

An algorithm whose shape batching changes may have a round of its own: a file in ``fedspec_torch.algorithms`` with a
table ``RUNS``. None has.
"""

from __future__ import annotations

from typing import Any

from fedspec.discovered import said
from fedspec.entry import Algorithm
from fedspec.entry import Program as Specified
from fedspec_torch.entry import Program
from fedspec_torch.plan import Clients
from fedspec_torch.population import Batched

RUNS: dict[str, Program] = {i: run for runs in said("fedspec_torch.algorithms", "RUNS") for i, run in runs.items()}


def find(algorithm: Algorithm) -> Program:
    """What runs a program of the catalogue."""
    run = algorithm.run
    assert isinstance(run, Specified)
    if algorithm.id in RUNS:
        return RUNS[algorithm.id]

    def step(h: Any, state: Any, clients: Clients, *events: Any) -> tuple[Any, dict[str, Any]]:
        return run.step(h, state, Batched(clients), *events)

    return Program(run.hyper, run.init, step)
