"""Asynchronous updates at scale: train one buffer's arrivals together, and drop old versions of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fedspec.algorithms.buffered import Waiting
from fedspec.entry import Program
from fedspec.plan import Arrival
from fedspec.returned import keeping
from fedspec.varying import Form, stepped


def run(
    program: Program,
    h: Any,
    state: Any,
    clients: Any,
    arrivals: Sequence[Arrival],
    *,
    largest_delay: int | None = None,
    form: Form | None = None,
) -> Any:
    """Return the state after a sequence of arrivals.

    Updates of one buffer don't depend on each other, so the sequence is divided where the buffer is full.

    Args:
        program: the algorithm, whose events are arrivals.
        h: the algorithm's hyper-parameters and readings.
        state: the state before the arrivals.
        clients: the population, in the form that the algorithm needs.
        arrivals: the arrivals, in order.
        largest_delay: largest delay, in model versions, of an update now or later: older versions are dropped; None:
            all versions are kept.
        form: function that makes a client from a record of hyper-parameters, in place of the client of the algorithm's
            text.

    Raises:
        PlanError: an arrival names a client that doesn't exist, or a version that was dropped.
    """
    done = 0
    while done < len(arrivals):
        room = h.buffer - len(state.pending) if isinstance(state, Waiting) else 1
        state, _ = stepped(keeping(program.step), h, state, clients, *arrivals[done : done + room], form=form)
        done += room
        if largest_delay is not None:
            state = replace(state, versions=state.versions[-1 - largest_delay :])
    return state
