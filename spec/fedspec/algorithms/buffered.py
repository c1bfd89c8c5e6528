"""A server that waits for m updates, begun from whatever version of its model.

    an update arrives:  it waits in the buffer
    when m of them wait:
        Delta = mean of the buffer;  one server step;  the buffer is emptied

A client may have several updates in one buffer; whether it does is the plan's. Every version of the model is kept,
since nothing says how late an update may be. Source: Client-Centric, text around Alg. 2 (L145-189).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fedspec.algorithms.synchronous import model
from fedspec.arith import Vector, stack
from fedspec.errors import PlanError
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Arrival
from fedspec.records import record


@record
class Waiting:
    """The server's state, the versions of the model so far and the updates that wait in the buffer."""

    server: Any
    versions: tuple[Vector, ...]
    pending: tuple[Vector, ...] = ()

    @property
    def x(self) -> Vector:
        """The present model."""
        return self.versions[-1]


def begin(server: Any) -> Waiting:
    """The first version and an empty buffer."""
    return Waiting(server=server, versions=(model(server),))


def check_room(buffer: int, pending: Sequence[Vector], arrivals: Sequence[Arrival]) -> None:
    """Refuse more arrivals than the buffer still takes: the server's step stands between them. One always fits.

    Raises:
        PlanError: more arrive than the buffer still takes.
    """
    if len(arrivals) > max(1, buffer - len(pending)):
        raise PlanError(
            f"arrivals: {len(arrivals)} with {len(pending)} waiting, but the buffer takes {buffer}; "
            f"the rest arrive after the server's step"
        )


def collected(
    pending: Sequence[Vector], deltas: Iterable[Vector], *, m: int, like: Vector
) -> tuple[tuple[Vector, ...], Vector | None]:
    """The updates that wait once some more have come; when m of them do, their mean, and the buffer is emptied."""
    pending = (*pending, *deltas)
    if len(pending) < m:
        return pending, None
    return (), weighted_mean(stack(pending), shares([1] * len(pending), like))
