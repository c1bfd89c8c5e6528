"""Five algorithms as a plain torch loop over the clients: one module, autograd, an optimiser, and running sums."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from fedspec_bench.peers.torch_optim.adaptive import AdaGrad, Sm3

Data: TypeAlias = Callable[[int], tuple[Tensor, Tensor]]
"""Function that returns a client's examples."""

Round: TypeAlias = Callable[[], None]
"""Function that trains one round, and leaves the server's model in the module."""


class Clients:
    """Clients of a loop, which train one module in turn.

    Attributes:
        module: the module to train.
        data: data of each client, in minibatches one after another.
        steps: number of steps of each client.
        batch: examples of a minibatch.
    """

    def __init__(self, module: nn.Module, data: Data, steps: Sequence[int], batch: int) -> None:
        self.module, self.data, self.steps, self.batch = module, data, steps, batch
        self.parameters = [*module.parameters()]

    def train(self, i: int, step: Callable[[], object]) -> None:
        """Take a client's local steps: compute a minibatch's gradients, then call ``step``."""
        inputs, targets = self.data(i)
        for k in range(self.steps[i]):
            some = slice(k * self.batch, (k + 1) * self.batch)
            for p in self.parameters:
                p.grad = None
            loss: Any = nn.functional.cross_entropy(self.module(inputs[some]), targets[some])
            loss.backward()
            step()

    @torch.no_grad()
    def put(self, values: Iterable[Tensor]) -> None:
        """Set the module's parameters."""
        for p, value in zip(self.parameters, values, strict=True):
            p.copy_(value)

    def vector(self) -> Tensor:
        """Return the module's parameters as one vector."""
        return nn.utils.parameters_to_vector(self.parameters).detach()

    def mean_change(
        self, x: Sequence[Tensor], trained: Callable[[int], object], scale: Sequence[float]
    ) -> list[Tensor]:
        """Return the sum of the clients' changes, each times its scale; resets the module to x."""
        total = [torch.zeros_like(p) for p in x]
        for i, share in enumerate(scale):
            self.put(x)
            trained(i)
            with torch.no_grad():
                for t, p, begun in zip(total, self.parameters, x, strict=True):
                    t.add_(p - begun, alpha=share)
        self.put(x)
        return total


def fedavg(clients: Clients, h: dict[str, Any]) -> Round:
    """FedAvg: average the clients' models after SGD."""
    sgd = torch.optim.SGD(clients.parameters, lr=h["eta_l"])
    n = len(clients.steps)

    def round() -> None:
        x = [p.detach().clone() for p in clients.parameters]
        total = clients.mean_change(x, lambda i: clients.train(i, sgd.step), [1 / n] * n)
        clients.put(p + t for p, t in zip(x, total, strict=True))

    return round


def fednova(clients: Clients, h: dict[str, Any]) -> Round:
    """FedNova: divide changes by their numbers of steps, and multiply by the mean number."""
    sgd, n = torch.optim.SGD(clients.parameters, lr=h["eta_l"]), len(clients.steps)
    scale = [sum(clients.steps) / n / n / tau for tau in clients.steps]

    def round() -> None:
        x = [p.detach().clone() for p in clients.parameters]
        total = clients.mean_change(x, lambda i: clients.train(i, sgd.step), scale)
        clients.put(p + t for p, t in zip(x, total, strict=True))

    return round


def scaffold(clients: Clients, h: dict[str, Any]) -> Round:
    """SCAFFOLD: subtract the client's control variate from gradients, and add the server's."""
    n, parameters = len(clients.steps), clients.parameters
    c = [torch.zeros_like(p) for p in parameters]
    own: dict[int, list[Tensor]] = {}

    @torch.no_grad()
    def step(c_i: list[Tensor]) -> None:
        for p, mine, all_of_them in zip(parameters, c_i, c, strict=True):
            assert p.grad is not None
            p.sub_(p.grad.sub_(mine).add_(all_of_them), alpha=h["eta_l"])

    def round() -> None:
        x, moved = [p.detach().clone() for p in parameters], [torch.zeros_like(p) for p in parameters]

        def trained(i: int) -> None:
            c_i = own.setdefault(i, [torch.zeros_like(p) for p in parameters])
            clients.train(i, lambda: step(c_i))
            with torch.no_grad():
                for p, begun, mine, server, change in zip(parameters, x, c_i, c, moved, strict=True):
                    new = mine - server - (p - begun) / (h["eta_l"] * clients.steps[i])
                    change.add_(new - mine, alpha=1 / n)
                    mine.copy_(new)

        total = clients.mean_change(x, trained, [1 / n] * n)
        clients.put(p + h["eta"] * t for p, t in zip(x, total, strict=True))
        for server, change in zip(c, moved, strict=True):
            server.add_(change)

    return round


def fedada2(clients: Clients, h: dict[str, Any]) -> Round:
    """FedAda2: new SM3 at the clients in each round; AdaGrad with momentum at the server."""
    served, n = AdaGrad(h["eta"], h["beta1"], h["tau"], h["v0"]), len(clients.steps)

    def round() -> None:
        x = [p.detach().clone() for p in clients.parameters]

        def trained(i: int) -> None:
            clients.train(i, Sm3(clients.parameters, h["eta_l"], h["eps"]).step)

        total = clients.mean_change(x, trained, [1 / n] * n)
        change = torch.cat([t.flatten() for t in total])
        nn.utils.vector_to_parameters(served(clients.vector(), change), clients.parameters)

    return round


def diloco(clients: Clients, h: dict[str, Any]) -> Round:
    """DiLoCo: AdamW at the clients, which keep its state; Nesterov momentum at the server."""
    betas, n = (h["beta1"], h["beta2"]), len(clients.steps)
    adamw = torch.optim.AdamW(clients.parameters, lr=h["eta_l"], betas=betas, eps=h["eps"], weight_decay=h["wd"])
    own: dict[int, Any] = {}
    v = [torch.zeros_like(p) for p in clients.parameters]

    def round() -> None:
        x = [p.detach().clone() for p in clients.parameters]

        def trained(i: int) -> None:
            adamw.state = own.setdefault(i, defaultdict(dict))
            clients.train(i, adamw.step)

        total = clients.mean_change(x, trained, [1 / n] * n)
        for moment, t in zip(v, total, strict=True):
            moment.mul_(h["beta"]).add_(t)
        clients.put(p + h["eta"] * (t + h["beta"] * m) for p, t, m in zip(x, total, v, strict=True))

    return round


LOOPS: dict[str, Callable[[Clients, dict[str, Any]], Round]] = {
    "fedavg": fedavg,
    "scaffold": scaffold,
    "fednova": fednova,
    "fedada2": fedada2,
    "diloco": diloco,
}
"""Function that makes the round, by the algorithm's id."""

HYPER: dict[str, dict[str, Any]] = {
    "fedavg": {"eta_l": 0.05},
    "scaffold": {"eta_l": 0.05, "eta": 1.0},
    "fednova": {"eta_l": 0.05},
    "fedada2": {"eta_l": 0.01, "eta": 0.05, "beta1": 0.9, "tau": 1e-3, "v0": 1e-6, "eps": 1e-2},
    "diloco": {"eta_l": 1e-3, "beta1": 0.9, "beta2": 0.99, "eps": 1e-2, "wd": 0.1, "eta": 0.7, "beta": 0.9},
}
"""Hyper-parameters of the algorithms, not tuned. A small eps makes steps nearly signs, which rounding flips."""
