"""Driver of other projects' local steps: a model of torch, a round's optimiser, and the project's code of one step.

The project computes a gradient by ``backward``. The loss here is linear in the model, and its gradient is the event's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from fedspec.contract import Answer, Begin, Case, Claim, Event, Gradient, Info
from fedspec.errors import ContractError
from fedspec_suite.subjects.outer import Model

Take = Callable[[torch.Tensor], object]
"""Function that takes one step down a loss."""

Make = Callable[[Model, Mapping[str, Any], int], Take]
"""Function that begins a round from its model, the case's hyper-parameters and the number of the round, from 0."""


class Session:
    """Session of a case: the model of the round, and the project's step."""

    def __init__(self, case: Case, make: Make) -> None:
        self.case, self.make, self.rounds = case, make, 0
        self.begin(case.x0)

    def begin(self, x: Mapping[str, Any]) -> None:
        """Begin a round with a new model."""
        self.model = Model(x)
        self.take = self.make(self.model, self.case.hyper, self.rounds)

    def step(self, event: Event) -> Answer:
        """Begin a round, or take a step."""
        match event:
            case Begin(x=x):
                self.rounds += 1
                self.begin(x)
            case Gradient(g=g):
                pairs = zip(self.model.blocks, g.values(), strict=True)
                self.take(sum((p * torch.tensor(v).reshape(p.shape)).sum() for p, v in pairs))
            case _:
                raise ContractError(f"event: {type(event).__name__} at level client; send Gradient or Begin")
        return {"x": self.model.shown(self.case.x0)}


class Steps:
    """Adapter of a project's local steps."""

    def __init__(self, name: str, version: str, made: Sequence[tuple[Claim, Make]]) -> None:
        self.info = Info(name, version, tuple(claim for claim, _ in made))
        self.made = {(claim.algorithm, claim.variant): make for claim, make in made}

    def start(self, case: Case) -> Session:
        """Begin a case."""
        return Session(case, self.made[case.algorithm, case.variant])
