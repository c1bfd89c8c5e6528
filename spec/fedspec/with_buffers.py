"""Adapter of the specification whose models carry buffers: ``fedspec check py:fedspec.with_buffers:SUBJECT``.

A server of the catalogue steps as it always does, and :mod:`fedspec.buffers` says what becomes of buffers beside it.
Its offers are told apart by their variant, which is the readings of statistics and counters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedspec.buffers import COUNTERS, STATISTICS, after
from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, Event, Messages, Offer, Session, SubjectInfo
from fedspec.errors import ContractError
from fedspec.reference import SUBJECT as PLAIN

ALGORITHMS = ("fedavg", "fedadam")
"""Algorithms claimed with buffers: FedAvg's server averages models, FedAdam's takes another kind of step."""


class BufferedSession:
    """Session of a server that also holds the model's buffers."""

    def __init__(self, case: Case) -> None:
        self.inner, self.held = PLAIN.start(case), case.buffers
        # What is carried is said in the variant; a case without buffers may name any.
        statistics, _, counters = case.variant.partition(" ")
        self.readings = {"statistics": statistics, "counters": counters}

    def step(self, event: Event) -> dict[str, Any]:
        """Process one event; if the case has buffers, also return the server's buffers after it.

        Raises:
            ContractError: a message has no buffers.
        """
        answer: dict[str, Any] = dict(self.inner.step(event))
        if self.held is None or not isinstance(event, Messages):
            return answer
        sent = [m.buffers for m in event.messages if m.buffers is not None]
        if len(sent) < len(event.messages):
            raise ContractError(
                "messages: a client sends no buffers, but the case has some; every client must send its buffers"
            )
        self.held = after(self.held, sent, [m.weight for m in event.messages], **self.readings)
        return {**answer, "buffers": {name: np.array(b) for name, b in self.held.items()}}


def offers() -> tuple[Offer, ...]:
    """Claims of FedAvg under each pair of buffer readings, and of FedAdam under the default pair."""
    pairs = [(s, c) for s in STATISTICS for c in COUNTERS]
    return tuple(
        Offer(
            name,
            "server",
            CATALOGUE[name].readings[0].name,
            intermediates=CATALOGUE[name].shows_at("server"),
            variant=f"{s} {c}",
            buffers={"statistics": str(s), "counters": str(c)},
        )
        for name in ALGORITHMS
        for s, c in (pairs if name == ALGORITHMS[0] else pairs[:1])
    )


class Reference:
    """Adapter of the catalogue's servers with buffers."""

    info = SubjectInfo("fedspec", PLAIN.info.version, offers(), variant="buffers")

    def start(self, case: Case) -> Session:
        """Start a session for one case."""
        return BufferedSession(case)


SUBJECT = Reference()
