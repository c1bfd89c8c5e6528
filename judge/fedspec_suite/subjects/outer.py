"""Driver of DiLoCo outer steps: an adapter only supplies the code that ends a worker's round.

Each worker has a model of torch with a parameter for each block. Its local work of a round is known: one step of
``torch.optim.SGD`` with rate 1 whose gradient is minus the change, so that the local model is x + Delta_i. Then the
implementation does what it does at the end of a round, at all workers at once (:mod:`fedspec_suite.subjects.workers`).
All should hold one model then. Each round shows that of another worker, so that it is seen where they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from fedspec.contract import Answer, Blocks, Case, Event, Messages, Offer, SubjectInfo
from fedspec.errors import ContractError
from fedspec_suite.subjects import workers

Rounds = Callable[[], object]
"""Function that takes the local step and ends the round, at one worker."""

Make = Callable[["Model", torch.optim.Optimizer, Mapping[str, Any]], Rounds]
"""Constructor of an implementation at one worker from its model, local optimiser and hyper-parameters."""


def offer(reading: str = "diloco", **more: Any) -> Offer:
    """Return an offer of DiLoCo's server in which all workers take part."""
    return Offer("diloco", "server", reading, participation="all", **more)


def sgd(model: torch.nn.Module, h: Mapping[str, Any], **more: Any) -> torch.optim.Optimizer:
    """Return the outer optimiser of DiLoCo's public code: PyTorch's SGD with Nesterov momentum."""
    return torch.optim.SGD(model.parameters(), lr=h["eta"], momentum=h["beta"], nesterov=True, **more)


class Model(torch.nn.Module):
    """Module with one parameter per block; a scalar block becomes shape (1,), as in torch's own layers.

    torchft 0.2.0 raises on a parameter without axes (``torch.empty(*p.shape)``, local_sgd.py, line 248).
    """

    def __init__(self, x: Blocks) -> None:
        super().__init__()
        rows = (torch.tensor(np.atleast_1d(block)) for block in x.values())
        self.blocks = torch.nn.ParameterList(map(torch.nn.Parameter, rows))

    def shown(self, x: Blocks) -> dict[str, np.ndarray[Any, Any]]:
        """Return the parameters as arrays, by the blocks' names."""
        pairs = zip(x.items(), self.blocks, strict=True)
        return {name: p.detach().numpy().copy().reshape(np.shape(block)) for (name, block), p in pairs}


class Session:
    """Session of a case, with as many workers as the first round has messages."""

    def __init__(self, case: Case, make: Make) -> None:
        self.case, self.make = case, make
        self.workers: workers.Workers | None = None
        self.rounds = 0

    def step(self, event: Event) -> Answer:
        """Run one round on all workers."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        messages = sorted(event.messages, key=lambda m: m.client)
        if self.workers is None:
            self.workers = workers.Workers(len(messages))
            self.made = self.workers.run(lambda rank: self._made())

        def round_of(rank: int) -> dict[str, np.ndarray[Any, Any]]:
            model, ends = self.made[rank]
            for p, change in zip(model.blocks, messages[rank].delta.values(), strict=True):
                p.grad = -torch.tensor(change, dtype=p.dtype).reshape(p.shape)
            ends()
            return model.shown(self.case.x0)

        models = self.workers.run(round_of)
        self.rounds += 1
        return {"x": models[self.rounds % len(models)]}

    def _made(self) -> tuple[Model, Rounds]:
        model = Model(self.case.x0)
        local = torch.optim.SGD(model.parameters(), lr=1.0)
        return model, self.make(model, local, self.case.hyper)


class Outer:
    """Implementation as a subject: its name and version, and a constructor for each offer's variant."""

    def __init__(self, name: str, version: str, made: Sequence[tuple[Offer, Make]]) -> None:
        self.info = SubjectInfo(name, version, tuple(offered for offered, _ in made))
        self.made = {offered.variant: make for offered, make in made}
        torch.set_num_threads(1)
        # What PyTorch imports with its first optimiser takes seconds: here, and not in an answer.
        torch.optim.SGD([torch.zeros(1)], lr=1.0).zero_grad()
        workers.stand_in()

    def start(self, case: Case) -> Session:
        """Create a session for the case's variant."""
        if (case.algorithm, case.level) != ("diloco", "server") or case.variant not in self.made:
            raise ContractError(f"case: {case.algorithm} at level {case.level} is not claimed")
        return Session(case, self.made[case.variant])
