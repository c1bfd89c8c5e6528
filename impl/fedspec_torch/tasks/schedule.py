"""Default schedule for an algorithm."""

from __future__ import annotations

from fedspec.entry import Algorithm
from fedspec_torch.run.local_work import Steps, common
from fedspec_torch.run.schedules import Schedule, arrivals, cohorts, exchanges


def plan(
    row: Algorithm,
    clients: int,
    cohort: int | None,
    *,
    steps: Steps = 1,
    graph: str = "ring",
    delay: int = 0,
    seed: int = 0,
) -> Schedule:
    """Return a schedule of the kind that the algorithm takes, with all clients, or one step, if it requires that."""
    size = None if cohort is None or {"everyone", "peers"} & {*row.takes} else min(cohort, clients)
    match row.event:
        case "exchange":
            clusters = min(4, size or clients) if "clusters" in row.takes else 1
            return exchanges(
                steps=common(steps), computing=size, senders=size, graph=graph, clusters=clusters, seed=seed
            )
        case "arrival":
            return arrivals(steps=steps, largest_delay=delay, seed=seed)
    return cohorts(size, steps=1 if "one-step" in row.takes else steps, seed=seed)
