"""Server that waits for m updates, which clients may have begun from any version of the model.

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
    """State of a buffered server: the server's own state, all versions of the model, and the updates in the buffer."""

    server: Any
    versions: tuple[Vector, ...]
    pending: tuple[Vector, ...] = ()

    @property
    def x(self) -> Vector:
        """The newest version of the model."""
        return self.versions[-1]


def begin(server: Any) -> Waiting:
    """Initial state: the first version of the model and an empty buffer."""
    return Waiting(server=server, versions=(model(server),))


def check_room(buffer: int, pending: Sequence[Vector], arrivals: Sequence[Arrival]) -> None:
    """Raise PlanError if more updates arrive than the buffer has space for, since the server steps in between.

    Raises:
        PlanError: more updates arrive than the buffer has space for.
    """
    if len(arrivals) > max(1, buffer - len(pending)):
        raise PlanError(
            f"arrivals: {len(arrivals)} with {len(pending)} waiting, but the buffer takes {buffer}; "
            f"the rest arrive after the server's step"
        )


def collected(
    pending: Sequence[Vector], deltas: Iterable[Vector], *, m: int, like: Vector
) -> tuple[tuple[Vector, ...], Vector | None]:
    """Add updates to the buffer; if it then holds m of them, return their mean and an empty buffer."""
    pending = (*pending, *deltas)
    if len(pending) < m:
        return pending, None
    return (), weighted_mean(stack(pending), shares([1] * len(pending), like))
