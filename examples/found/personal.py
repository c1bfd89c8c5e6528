"""Driver of other projects' rounds of clients that keep blocks: models of torch, and local steps down a case's losses.

The project passes models on between server and clients. The local steps are SGD of this file. Projects find local
blocks by a part of their names, such as ``bn``, so the shared blocks are called ``w0``, ``w1`` and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from fedspec.contract import Answer, Case, Claim, Event, Info, Quadratics, Round
from fedspec.errors import ContractError

Tensors = Mapping[str, torch.Tensor]
Train = Callable[["Model", int, int], object]
"""Function that trains a model on a client's loss, for a number of steps."""

Rounds = Callable[[Sequence[int], Sequence[int]], Tensors]
"""Function that runs a round with these clients and numbers of steps, and returns the server's blocks."""

Make = Callable[[list["Model"], Any, Train], Rounds]
"""Function that begins a case from equal models, one for each client, their numbers of examples, and local steps."""


class Model(torch.nn.Module):
    """Module with a parameter for each block of a case: a local block has its own name, and the others are numbered."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.names = {name: name if name in case.parts else f"w{k}" for k, name in enumerate(case.x0)}
        for name, block in case.x0.items():
            self.register_parameter(self.names[name], torch.nn.Parameter(torch.tensor(np.atleast_1d(block))))


def trainer(problem: Quadratics, rate: float) -> Train:
    """Return local steps of SGD."""

    def train(model: Model, client: int, steps: int) -> None:
        for _ in range(steps):
            x = torch.cat([p.reshape(-1) for p in model.parameters()])
            H, e = (torch.tensor(a[client], dtype=x.dtype) for a in (problem.H, problem.e))
            slopes = torch.autograd.grad(x @ H @ x / 2 - e @ x, list(model.parameters()))
            with torch.no_grad():
                for p, slope in zip(model.parameters(), slopes, strict=True):
                    p.sub_(slope, alpha=rate)

    return train


class Session:
    """Session of a case: the project's server and clients."""

    def __init__(self, case: Case, make: Make) -> None:
        assert case.problem is not None
        self.case, problem = case, case.problem
        models = [Model(case) for _ in problem.H]
        self.names = models[0].names
        self.rounds = make(models, problem.examples, trainer(problem, case.hyper["eta_l"]))

    def step(self, event: Event) -> Answer:
        """Run one round."""
        if not isinstance(event, Round):
            raise ContractError(f"event: {type(event).__name__} at level round; send Round")
        x, x0 = self.rounds(event.participants, event.steps), self.case.x0
        moved = {name: x[self.names[name]].detach().numpy().copy() for name in x0 if name not in self.case.parts}
        return {"x": {name: moved.get(name, a).reshape(a.shape) for name, a in x0.items()}}


class Personal:
    """Adapter of a project's rounds of FedAvg with local blocks."""

    def __init__(self, name: str, version: str, made: Sequence[tuple[Claim, Make]]) -> None:
        self.info = Info(name, version, tuple(claim for claim, _ in made))
        self.made = {claim.variant: make for claim, make in made}

    def start(self, case: Case) -> Session:
        """Begin a case."""
        return Session(case, self.made[case.variant])


def offer(block: str, weights: str = "examples", **more: Any) -> Claim:
    """Make a claim of FedAvg whose clients keep a block."""
    options, fixed = {"weights": weights}, {"eta": 1.0}
    return Claim("fedavg", "round", "mcmahan-2017", options, fixed, parts={block: "local"}, **more)
