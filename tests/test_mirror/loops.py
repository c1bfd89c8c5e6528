"""Some algorithms as one writes them first: plain loops over a module, its loss and its clients' data.

They share nothing with the mirror but the kind, and the seeds of what it draws: parameters are set on the module,
``backward`` is called on its loss.
Minibatches are two examples each, in the order in which a client has them, from the first one on in every round.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from test_mirror.kinds import Kind
from torch import Tensor

from fedspec_torch.gradients.beside import seed_of

RATE, SERVER, ROUNDS, STEPS = 0.05, 0.5, 2, 2
"""Of clients, of servers that have one; rounds, and local steps of each client, if not told otherwise."""

BETA, MU, RADIUS, EPS = 0.5, 0.5, 0.5, 0.125
"""Of Mime's momentum, of FedPD's penalty, and of FedSAM's step up."""

MIXING = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]], dtype=torch.float64)
"""Who takes how much of whose model."""

ARRIVALS = ((0, 2, 0), (2, 1, 1), (1, 2, 0))
"""Client, steps, and how many versions ago it began, of each late update."""


class Plain:
    """A module with its loss and data; a model is a list of tensors."""

    def __init__(self, kind: Kind, steps: tuple[int, ...] = (STEPS,) * 3) -> None:
        self.steps = steps
        self.module, self.loss, self.data = kind.made()
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]
        self.x = [p.detach().clone() for p in self.parameters]
        self.round = 0

    def gradient(self, x: list[Tensor], client: int, k: int) -> list[Tensor]:
        """Of the loss of a client's minibatch k."""
        inputs, targets = self.data[client]
        rows = [(2 * k + e) % len(inputs) for e in (0, 1)]
        for p, value in zip(self.parameters, x, strict=True):
            p.data.copy_(value)
            p.grad = None
        # Of what is drawn at random a plain loop is given the same.
        torch.manual_seed(seed_of(0, self.round, client, k))
        self.loss(self.module(inputs[rows]), targets[rows]).backward()
        return [torch.zeros_like(p) if p.grad is None else p.grad.to_dense() for p in self.parameters]

    def descended(self, x: list[Tensor], client: int, steps: int, more: Any = None) -> list[Tensor]:
        """After some steps of SGD with something added to the gradient."""
        y = x
        for k in range(steps):
            g = self.gradient(y, client, k)
            y = [v - RATE * (d + (more[j] if more else 0)) for j, (v, d) in enumerate(zip(y, g, strict=True))]
        return y


def mean(models: list[list[Tensor]], weights: Any) -> list[Tensor]:
    """A weighted sum of models."""
    return [sum(w * part for w, part in zip(weights, parts, strict=True)) for parts in zip(*models, strict=True)]


def fedavg(plain: Plain) -> list[Tensor]:
    """Models weighed by how many examples each client has."""
    sizes = [len(inputs) for inputs, _ in plain.data]
    x = plain.x
    for plain.round in range(ROUNDS):
        x = mean([plain.descended(x, i, plain.steps[i]) for i in range(3)], [n / sum(sizes) for n in sizes])
    return x


def scaffold(plain: Plain) -> list[Tensor]:
    """Control variates are the mean gradients that were seen."""
    x, c_i = plain.x, [[0 * part for part in plain.x] for _ in range(3)]
    for plain.round in range(ROUNDS):
        c = mean(c_i, [1 / 3] * 3)
        off = [[b - a for a, b in zip(c_i[i], c, strict=True)] for i in range(3)]
        ends = [plain.descended(x, i, tau, off[i]) for i, tau in enumerate(plain.steps)]
        for i, (end, tau) in enumerate(zip(ends, plain.steps, strict=True)):
            c_i[i] = [a - b + (v - y) / (RATE * tau) for a, b, v, y in zip(c_i[i], c, x, end, strict=True)]
        x = [v + SERVER * (y - v) for v, y in zip(x, mean(ends, [1 / 3] * 3), strict=True)]
    return x


def fedada2(plain: Plain) -> list[Tensor]:
    """SM3 along the axes of every parameter at the clients, AdaGrad at the server."""
    x, v = plain.x, [0.1 + 0 * part for part in plain.x]
    m = [0 * part for part in x]
    for plain.round in range(ROUNDS):
        ends = []
        for i in range(3):
            y, most = x, [[torch.zeros(n, dtype=part.dtype) for n in part.shape or (1,)] for part in x]
            for k in range(plain.steps[i]):
                new = []
                for part, g, axes in zip(y, plain.gradient(y, i, k), most, strict=True):
                    g1 = g.reshape(g.shape or (1,))
                    along = [a.reshape([-1 if b == j else 1 for b in range(g1.ndim)]) for j, a in enumerate(axes)]
                    nu = torch.stack([a.expand(g1.shape) for a in along]).amin(0) + g1 * g1
                    axes[:] = [nu.movedim(j, 0).flatten(1).amax(1) if g1.ndim > 1 else nu for j in range(g1.ndim)]
                    new.append(part - RATE * (g1 / (nu.sqrt() + 0.1)).reshape(part.shape))
                y = new
            ends.append(y)
        change = [y - part for y, part in zip(mean(ends, [1 / 3] * 3), x, strict=True)]
        m = [0.5 * a + 0.5 * d for a, d in zip(m, change, strict=True)]
        v = [a + d * d for a, d in zip(v, change, strict=True)]
        x = [part + SERVER * a / (b.sqrt() + 0.1) for part, a, b in zip(x, m, v, strict=True)]
    return x


def dsgd(plain: Plain) -> list[Tensor]:
    """Everybody takes of everybody's model, less an own gradient; then the mean."""
    X = [plain.x] * 3
    for plain.round in range(ROUNDS):
        for k in range(STEPS):
            G = [plain.gradient(X[i], i, k) for i in range(3)]
            X = [[a - RATE * g for a, g in zip(mean(X, MIXING[i]), G[i], strict=True)] for i in range(3)]
    return mean(X, [1 / 3] * 3)


def fedasync(plain: Plain) -> list[Tensor]:
    """A quarter of each late model, which was drawn back to where it began."""
    versions = [plain.x]
    for plain.round, (client, steps, delay) in enumerate(ARRIVALS):
        begun = y = versions[-1 - delay]
        for k in range(steps):
            g = plain.gradient(y, client, k)
            y = [v - RATE * (d + 0.5 * (v - b)) for v, d, b in zip(y, g, begun, strict=True)]
        versions.append([0.75 * a + 0.25 * b for a, b in zip(versions[-1], y, strict=True)])
    return versions[-1]


def mime(plain: Plain, lite: bool = False) -> list[Tensor]:
    """A client's gradient at x is the mean over the minibatches of its steps; MimeLite corrects by none."""
    x, m = plain.x, [0 * part for part in plain.x]
    for plain.round in range(ROUNDS):
        at_x = [[plain.gradient(x, i, k) for k in range(tau)] for i, tau in enumerate(plain.steps)]
        g_x = mean([mean(G, [1 / len(G)] * len(G)) for G in at_x], [1 / 3] * 3)
        ends = []
        for i, tau in enumerate(plain.steps):
            y = x
            for k in range(tau):
                g = plain.gradient(y, i, k)
                if not lite:
                    g = [a - b + c for a, b, c in zip(g, at_x[i][k], g_x, strict=True)]
                y = [v - RATE * ((1 - BETA) * a + BETA * b) for v, a, b in zip(y, g, m, strict=True)]
            ends.append(y)
        x = [v + SERVER * (y - v) for v, y in zip(x, mean(ends, [1 / 3] * 3), strict=True)]
        m = [(1 - BETA) * a + BETA * b for a, b in zip(g_x, m, strict=True)]
    return x


def fedsam(plain: Plain, rho: float = 0.0) -> list[Tensor]:
    """Both gradients of a step are of its minibatch, and one length is that of all tensors; MoFedSAM keeps a mean."""
    x, kept = plain.x, [torch.zeros_like(v) for v in plain.x]
    for plain.round in range(ROUNDS):
        ends = []
        for i, tau in enumerate(plain.steps):
            y = x
            for k in range(tau):
                g = plain.gradient(y, i, k)
                length = torch.cat([part.reshape(-1) for part in g]).norm()
                up = [v + RADIUS / (length + EPS) * part for v, part in zip(y, g, strict=True)]
                there = plain.gradient(up, i, k)
                y = [v - RATE * ((1 - rho) * part + rho * D) for v, part, D in zip(y, there, kept, strict=True)]
            ends.append(y)
        middle = mean(ends, [1 / 3] * 3)
        kept = [(v - y) / (RATE * sum(plain.steps) / 3) for v, y in zip(x, middle, strict=True)]
        x = [v + SERVER * (y - v) for v, y in zip(x, middle, strict=True)]
    return x


def fedpd(plain: Plain) -> list[Tensor]:
    """Clients go on from where they were; the sum of all distances from the server's models stands for a dual."""
    x, at, gone = plain.x, [plain.x] * 3, [[0 * part for part in plain.x]] * 3
    for plain.round in range(ROUNDS):
        for i, tau in enumerate(plain.steps):
            for k in range(tau):
                g = plain.gradient(at[i], i, k)
                at[i] = [y - RATE * (a + MU * (far + y - v)) for y, a, far, v in zip(at[i], g, gone[i], x, strict=True)]
            gone[i] = [far + y - v for far, y, v in zip(gone[i], at[i], x, strict=True)]
        x = [v + far for v, far in zip(mean(at, [1 / 3] * 3), mean(gone, [1 / 3] * 3), strict=True)]
    return x


LOOPS: dict[str, Callable[[Plain], list[Tensor]]] = {
    **{"fedavg": fedavg, "scaffold": scaffold, "fedada2": fedada2, "dsgd": dsgd, "fedasync": fedasync},
    **{"mime": mime, "mime-lite": partial(mime, lite=True), "fedpd": fedpd},
    **{"fedsam": fedsam, "mofedsam": partial(fedsam, rho=0.25)},
}
"""By the names of the catalogue."""
