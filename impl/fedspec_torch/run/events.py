"""The events of a round: what a schedule may give, and how much work they are."""

from __future__ import annotations

from typing import Any, cast

from fedspec.catalogue import Algorithm
from fedspec.errors import PlanError
from fedspec.plan import Arrival, Exchange, Plan
from fedspec_torch.run.schedules import Event


def steps_in(events: tuple[Event, ...]) -> int:
    """How many local steps clients take in a round, all together."""
    match events[0]:
        case Plan(steps=steps):
            return sum(steps)
        case Exchange(computing=sets):
            return sum(map(len, sets))
    return sum(arrival.steps for arrival in cast("tuple[Arrival, ...]", events))


def check_events(events: Any, algorithm: Algorithm, round: int) -> None:
    """Refuse what a schedule of the user's own gives other than events that the algorithm takes.

    Raises:
        PlanError: with the round, and what is wanted.
    """
    kind = {"round": Plan, "exchange": Exchange, "arrival": Arrival}[algorithm.event or "round"]
    some = isinstance(events, tuple | list) and len(events) > 0 and all(isinstance(event, kind) for event in events)
    if not some or (kind is not Arrival and len(events) > 1):
        count = "one or more" if kind is Arrival else "one"
        raise PlanError(
            f"plan: round {round}: its events are {events!r}; {algorithm.id} takes a tuple of {count} {kind.__name__}"
        )
