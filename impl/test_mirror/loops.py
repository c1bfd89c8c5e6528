"""Clients as one writes them first: a module whose parameters are set, and ``backward`` of its loss.

They share nothing with the mirror but the kind, and the seeds of what it draws. FedAvg is a plain loop over them; every
other algorithm is the specification's text, in NumPy, on their gradients.
Minibatches are two examples each, in the order in which a client has them, from the first one on in every round.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from test_mirror.federations import played
from test_mirror.kinds import EXAMPLES, Kind, changed_by
from torch import Tensor

from fedspec.catalogue import Algorithm
from fedspec.plan import Setup
from fedspec_torch.gradients.module_state import seed_of

RATE, ROUNDS, STEPS = 0.05, 2, 2
"""Rate of clients; rounds, and local steps of each client, by default."""


class Plain:
    """A module with its loss and data; a model is a list of tensors."""

    def __init__(self, kind: Kind, steps: tuple[int, ...] = (STEPS,) * 3) -> None:
        self.steps = steps
        self.module, self.loss, self.data = kind.made()
        self.kind = kind
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]
        self.x = [p.detach().clone() for p in self.parameters]
        self.round = 0

    def gradient(self, x: list[Tensor], client: int, k: int) -> list[Tensor]:
        """Gradient of the loss of a client's minibatch k."""
        rows = [(2 * k + e) % EXAMPLES[client] for e in (0, 1)]
        batch = changed_by(lambda tensor: tensor[rows], self.data[client])
        for p, value in zip(self.parameters, x, strict=True):
            p.data.copy_(value)
            p.grad = None
        # Of what is drawn at random a plain loop is given the same.
        torch.manual_seed(seed_of(0, self.round, client, k))
        step = self.kind.step or (lambda module, batch: self.loss(module(batch[0]), batch[1]))
        step(self.module, batch).backward()  # type: ignore[no-untyped-call]
        return [torch.zeros_like(p) if p.grad is None else p.grad.to_dense() for p in self.parameters]

    def descended(self, x: list[Tensor], client: int) -> list[Tensor]:
        """After the client's steps of SGD."""
        for k in range(self.steps[client]):
            x = [v - RATE * g for v, g in zip(x, self.gradient(x, client, k), strict=True)]
        return x


def fedavg(plain: Plain) -> Tensor:
    """Models weighed by how many examples each client has."""
    x = plain.x
    for plain.round in range(ROUNDS):
        ends = zip(*(plain.descended(x, i) for i in range(3)), strict=True)
        x = [sum(n / sum(EXAMPLES) * part for n, part in zip(EXAMPLES, parts, strict=True)) for parts in ends]
    return flat(x)


def specified(plain: Plain, row: Algorithm, h: Any, plan: Any, rounds: int) -> Tensor:
    """Model after the specification's text, in NumPy, on these clients."""
    named = [(n, p.shape) for n, p in plain.module.named_parameters() if p.requires_grad]
    setup, x = Setup(EXAMPLES, dict(named)), flat(plain.x).numpy()

    def gradient(client: int, k: int, x: Any) -> Any:
        parts = torch.tensor(x).split([shape.numel() for _, shape in named])
        model = [part.reshape(shape) for part, (_, shape) in zip(parts, named, strict=True)]
        return flat(plain.gradient(model, client, k)).numpy()

    def events() -> Iterator[Any]:
        for plain.round in range(rounds):
            yield plan.events(row, h, setup, x, plain.round)

    return torch.tensor(played(row, h, [partial(gradient, i) for i in range(3)], x, setup, events()))


def flat(model: list[Tensor]) -> Tensor:
    """A model as one vector."""
    return torch.cat([part.reshape(-1) for part in model])
