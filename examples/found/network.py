"""Sessions of decentralised code: the driver receives an exchange from the judge, and returns all clients' models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from fedspec.contract import Answer, Case, Claim, Event, Exchange, Info
from fedspec.errors import ContractError

Numbers = np.ndarray[Any, Any]


class Network(Protocol):
    """Project's code that runs all clients of a case."""

    def run(self, W: Numbers, steps: int) -> Sequence[Numbers]:
        """Take local steps, each with an exchange by W; return the clients' models."""
        ...


Make = Callable[[Case], Network]


def gradient(case: Case, i: int) -> Callable[[Numbers], Numbers]:
    """Return the gradient function of client i."""
    assert case.problem is not None
    H, e = case.problem.H[i], case.problem.e[i]

    def at(x: Numbers) -> Numbers:
        g: Numbers = H @ x - e
        return g

    return at


def beside(W: Numbers, i: int) -> list[int]:
    """Return the neighbours of client i: the clients with a nonzero mixing weight in either direction."""
    return [j for j in range(len(W)) if j != i and (W[i, j] or W[j, i])]


class Session:
    """Session of a case, whose model is one block [clients, d]."""

    def __init__(self, case: Case, make: Make) -> None:
        ((self.name, _),) = case.x0.items()
        self.dtype, self.made = case.dtype, make(case)

    def step(self, event: Event) -> Answer:
        """Run the local steps and gossip of one exchange."""
        if not isinstance(event, Exchange):
            raise ContractError(f"event: {type(event).__name__} among peers; send Exchange")
        W = np.asarray(event.mixing, dtype=self.dtype)
        return {"x": {self.name: np.array(self.made.run(W, len(event.computing)), dtype=self.dtype)}}


class Peers:
    """Adapter of a project: its name, its version, and its claims with the function that runs each."""

    def __init__(self, name: str, version: str, made: Sequence[tuple[Claim, Make]]) -> None:
        self.info = Info(name, version, tuple(offered for offered, _ in made))
        self.made = {offered.algorithm: make for offered, make in made}

    def start(self, case: Case) -> Session:
        """Begin a case."""
        if case.level != "trace" or case.algorithm not in self.made:
            raise ContractError(f"case: {case.algorithm} at level {case.level} is not claimed")
        return Session(case, self.made[case.algorithm])
