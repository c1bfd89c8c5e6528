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

    Updates of one buffer do not see each other, so that the sequence is cut where the buffer is full.

    Args:
        program: the algorithm, one whose events are arrivals.
        h: its hyper-parameters and readings.
        state: what it begins from.
        clients: the population, as the program takes it.
        arrivals: whose updates arrive, in order.
        largest_delay: how many versions back an update may have been begun, now and later: older ones are dropped;
            None: all are kept.
        form: what makes a client, of a record of hyper-parameters, in place of what the program's text has it do.

    Raises:
        PlanError: an arrival is of a client that does not exist, or of a version that is not kept.
    """
    done = 0
    while done < len(arrivals):
        room = h.buffer - len(state.pending) if isinstance(state, Waiting) else 1
        state, _ = stepped(keeping(program.step), h, state, clients, *arrivals[done : done + room], form=form)
        done += room
        if largest_delay is not None:
            state = replace(state, versions=state.versions[-1 - largest_delay :])
    return state
