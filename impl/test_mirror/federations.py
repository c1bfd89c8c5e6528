"""Small federations whose gradients are known: linear models of one output under a quadratic loss.

F_i(w) = 1/(2 n_i) ||A_i w - b_i||^2,    H_i = A_i' A_i / n_i,    e_i = A_i' b_i / n_i
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from test_mirror.support import HYPER
from torch import Tensor, nn

from fedspec.algorithms import synchronous
from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver, Method
from fedspec.problems.quadratic import QuadraticClients
from fedspec.usual import needed
from fedspec.varying import stepped
from fedspec_torch import Federation, arrivals, cohorts, exchanges

TRAINABLE = [row for row in CATALOGUE.values() if not isinstance(row.run, LocalSolver)]


def half_square(output: Tensor, target: Tensor) -> Tensor:
    """Half the mean squared error of one output."""
    return ((output[:, 0] - target) ** 2).mean() / 2


class TwoBlocks(nn.Module):
    """w = (u, vec V): a linear model whose parameters are two matrices, of which one is a row."""

    def __init__(self, w: Any) -> None:
        super().__init__()
        self.u = nn.Parameter(torch.tensor(w[:2])[None])
        self.V = nn.Parameter(torch.tensor(w[2:]).reshape(2, 2))

    def forward(self, inputs: Tensor) -> Tensor:
        return (inputs[:, :2] @ self.u[0] + inputs[:, 2:] @ self.V.reshape(-1))[:, None]


def quadratic(seed: int = 0, clients: int = 6, **more: Any) -> tuple[Federation, Any, Any]:
    """A federation, and H and e of its clients' objectives; of unequal sample sizes."""
    rng = np.random.default_rng(seed)
    data, H, e = [], [], []
    for i in range(clients):
        n = 5 + i
        A, b = rng.standard_normal((n, 6)), rng.standard_normal(n)
        data.append((torch.tensor(A), torch.tensor(b)))
        H.append(A.T @ A / n)
        e.append(A.T @ b / n)
    federation = Federation(TwoBlocks(rng.standard_normal(6)), half_square, data, **more)
    return federation, (np.array(H) + np.array(H).transpose(0, 2, 1)) / 2, np.array(e)


def valued(federation: Federation, H: Any, e: Any) -> tuple[Any, ...]:
    """Its clients' objectives in closed form, with their values: F_i(0) is half the mean square of the targets."""
    pairs: Any = federation.data
    return QuadraticClients(H, e, np.array([float((b**2).mean()) / 2 for _, b in pairs])).clients


def hyper(row: Algorithm) -> dict[str, float]:
    """Every hyper-parameter that the algorithm asks for, at a plain value."""
    return {n: HYPER[n] for n in needed(row, row.defaults())}


def schedule(row: Algorithm, clients: int = 6, steps: Any = (1, 3), largest_delay: int = 2) -> Any:
    """A schedule of the events that the algorithm takes, in which not everybody does the same unless it is said."""
    match row.event:
        case "exchange":
            some, exchanged = None if "peers" in row.takes else clients - 2, 2 if isinstance(steps, tuple) else steps
            clusters = 2 if "clusters" in row.takes else 1
            return exchanges(steps=exchanged, computing=some, senders=some, clusters=clusters)
        case "arrival":
            return arrivals(steps=steps, largest_delay=largest_delay)
    return cohorts(None if "everyone" in row.takes else clients - 2, steps=1 if "one-step" in row.takes else steps)


def specified(row: Algorithm, run: Any, H: Any, e: Any) -> Any:
    """The model after the same events by the specification in NumPy, one client after another."""
    f = run.federation
    rounds = (run.plan.events(row, run.h, f.setup, f.x0, number) for number in range(len(run.history)))
    return played(row, run.h, valued(f, H, e), f.x0.numpy(), f.setup, rounds)


def played(row: Algorithm, h: Any, clients: Any, x: Any, setup: Any, rounds: Iterable[Any]) -> Any:
    """The model after rounds of events by the specification in NumPy, one client after another."""
    m: Any = row.run
    x = np.tile(x, len(clients)) if "peers" in row.takes else x
    state = m.begin(h, x, setup.shapes) if isinstance(m, Method) else m.init(h, x, setup)
    for event in chain.from_iterable(rounds):
        if isinstance(m, Method):
            made = synchronous.run_round(h, state, clients, event, local=m.local, norm=m.norm, server=m.server)
            state = made.state
        else:
            event = replace(event, mixing=event.mixing.numpy()) if hasattr(event, "mixing") else event
            state, _ = stepped(m.step, h, state, clients, event)
    x = synchronous.model(state) if isinstance(m, Method) else state.x
    return x.reshape(len(clients), -1).mean(0) if "peers" in row.takes else x
