"""The server of buffered asynchronous algorithms: it waits for m updates, begun from whatever version, and steps.

    an update arrives:  it waits in the buffer
    when m of them wait:
        Delta = mean of the buffer;  one server step;  the buffer is emptied

Updates of one buffer do not see each other, so that all of them are trained at once: a step takes one arrival or
several, and :func:`run` cuts a long sequence of arrivals where the buffer is full. Versions of the model are kept for
the largest delay that is announced; where none is, all of them. Source: Client-Centric, text around Alg. 2 (L145-189).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from fedspec.algorithms.synchronous import model
from fedspec.errors import PlanError
from fedspec.plan import Arrival
from fedspec_torch.arith import Stack, Vector
from fedspec_torch.mixing.weighted import shares, weighted_mean
from fedspec_torch.plan import Clients

Step = Callable[..., tuple[Any, dict[str, Any]]]


@dataclass(frozen=True)
class Waiting:
    """The server's state, the versions of the model that are kept and the updates that wait in the buffer.

    Attributes:
        server: the state of the server rule.
        versions: the last versions of the model, the present one at the end.
        pending: the updates, one stack for each step that brought some.
        kept: how many versions are kept; None: all.
    """

    server: Any
    versions: tuple[Vector, ...]
    pending: tuple[Stack, ...] = ()
    kept: int | None = None

    @property
    def x(self) -> Vector:
        """The present model."""
        return self.versions[-1]

    @property
    def waiting(self) -> int:
        """How many updates wait."""
        return sum(map(len, self.pending))


def begin(server: Any, largest_delay: int | None = None) -> Waiting:
    """The first version and an empty buffer."""
    return Waiting(server=server, versions=(model(server),), kept=None if largest_delay is None else largest_delay + 1)


def downloaded(versions: Sequence[Vector], delays: Sequence[int]) -> Stack:
    """The models that updates were begun from, one row each.

    Raises:
        PlanError: one was begun before the first version that is kept.
    """
    for delay in delays:
        if delay >= len(versions):
            raise PlanError(
                f"delay: {delay} versions back, but {len(versions)} are there; an update begins at version 0 or later, "
                f"and a largest_delay announced at the start is never exceeded"
            )
    return torch.stack([versions[-1 - delay] for delay in delays])


def collect(h: Any, state: Waiting, deltas: Stack, server: Callable[..., Any]) -> tuple[Waiting, dict[str, Any]]:
    """Updates join the buffer; the server takes one step when it is full.

    Raises:
        PlanError: there are more of them than the buffer still takes.
    """
    pending = (*state.pending, deltas)
    count = state.waiting + len(deltas)
    shown = {"delta_i": deltas[0] if len(deltas) == 1 else deltas}
    if count > h.buffer:
        raise PlanError(
            f"arrivals: {len(deltas)} with {state.waiting} waiting, but the buffer takes {h.buffer}; see run"
        )
    if count < h.buffer:
        return replace(state, pending=pending), shown
    delta = weighted_mean(torch.cat(pending), shares([1] * count, state.x))
    after = server(state.server, delta, **h.of(server))
    moments = {name: getattr(after, name) for name in ("m", "v", "v_hat") if hasattr(after, name)}
    versions = (*state.versions, model(after))
    versions = versions if state.kept is None else versions[-state.kept :]
    return Waiting(server=after, versions=versions, kept=state.kept), {**shown, "delta": delta, **moments}


def run(h: Any, state: Waiting, clients: Clients, arrivals: Sequence[Arrival], step: Step) -> Waiting:
    """The state after a sequence of arrivals, those of one buffer trained at once."""
    start = 0
    while start < len(arrivals):
        end = start + int(h.buffer) - state.waiting
        state, _ = step(h, state, clients, *arrivals[start:end])
        start = end
    return state
