"""Driver of other projects' servers of torch: a model, the project's code of one round, and its checkpoint.

A session that is saved keeps the files that the project writes into a folder, as an archive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import beside
from means import Sent, messages

from fedspec.contract import Answer, Case, Claim, Event, Info
from fedspec_suite.subjects.outer import Model


class Server(Protocol):
    """The project's server on a model, which it changes in place."""

    def update(self, sent: Sent) -> object:
        """Aggregate the messages of one round."""

    def save(self, folder: Path) -> object:
        """Write a checkpoint."""

    def load(self, folder: Path) -> object:
        """Read a checkpoint."""


Make = Callable[[Model, Mapping[str, Any]], Server]
"""Function that makes a server from its model and the case's hyper-parameters."""


class Session:
    """Session of a case: the model and the project's server."""

    def __init__(self, case: Case, make: Make) -> None:
        self.x0, self.model = case.x0, Model(case.x0)
        self.server = make(self.model, case.hyper)

    def step(self, event: Event) -> Answer:
        """Run a round."""
        self.server.update(messages(event))
        return {"x": self.model.shown(self.x0)}

    def save(self) -> bytes:
        """Return the project's checkpoint."""
        return beside.packed(self.server.save)

    def restore(self, saved: bytes) -> None:
        """Give the project its checkpoint back."""
        beside.unpacked(saved, self.server.load)


class Servers:
    """Adapter of a project's servers."""

    def __init__(self, name: str, version: str, made: Sequence[tuple[Claim, Make]]) -> None:
        self.info = Info(name, version, tuple(claim for claim, _ in made))
        self.made = {(claim.algorithm, claim.variant): make for claim, make in made}

    def start(self, case: Case) -> Session:
        """Begin a case."""
        return Session(case, self.made[case.algorithm, case.variant])
