"""Driver of other projects' private averages: a round's messages and the case's noise make the next model.

A project draws noise from a normal distribution, block by block. Its function is replaced by one that multiplies the
case's draws by the standard deviation that the project passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import beside  # noqa: F401
import numpy as np
from means import Sent

from fedspec.contract import Answer, Blocks, Case, Claim, Event, Info, Messages
from fedspec.errors import ContractError

NextModel = Callable[[Blocks, Sent], Mapping[str, Any]]
"""Function from the model and a round's messages to the next model."""


class Draws:
    """Standard normal numbers of a round, in the order of the model's coordinates."""

    def __init__(self) -> None:
        self.rest: Iterator[Any] = iter(())

    def normal(self, mean: float, std: float, size: Any, **_: Any) -> Any:
        """Return the next draws times a standard deviation."""
        taken = [next(self.rest) for _ in range(int(np.prod(size, dtype=int)))]
        return mean + std * np.array(taken, dtype=float).reshape(size)


Make = Callable[[Case, Draws], NextModel]
"""Function that makes a project's server for a case; the server draws from these numbers."""


class Session:
    """Session of a case: the model, and the project's server."""

    def __init__(self, case: Case, make: Make) -> None:
        self.x, self.draws = dict(case.x0), Draws()
        self.next = make(case, self.draws)

    def step(self, event: Event) -> Answer:
        """Run a round."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        self.draws.rest = iter(event.noise)
        found = self.next(self.x, event.messages)
        self.x = {name: np.array(found[name]).reshape(x.shape) for name, x in self.x.items()}
        return {"x": self.x}


class Private:
    """Adapter of a project's servers with private averages."""

    def __init__(self, name: str, version: str, made: Sequence[tuple[Claim, Make]]) -> None:
        self.info = Info(name, version, tuple(claim for claim, _ in made))
        self.made = {(claim.algorithm, claim.variant): make for claim, make in made}

    def start(self, case: Case) -> Session:
        """Begin a case."""
        return Session(case, self.made[case.algorithm, case.variant])
