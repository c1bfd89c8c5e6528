"""Local runs of a block of clients by an in-place solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from fedspec.domains import check_steps
from fedspec.population import Client
from fedspec_torch.arith import Stack
from fedspec_torch.local.blocks import Block
from fedspec_torch.local.solvers import InPlace
from fedspec_torch.plan import Oracle

Tau: TypeAlias = int | tuple[int, ...]
"""Number of steps: one for all clients, or one for each client in descending order."""

Made: TypeAlias = Callable[[Any, Any], Client | None]
"""Function from hyper-parameters and state to a client function; None: run the algorithm's text."""


def taken(tau: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield every step k with the number of clients that take it; clients are in descending order of steps."""
    left = len(tau)
    for k in range(tau[0]):
        while tau[left - 1] <= k:
            left -= 1
        yield k, left


def run_in_place(solver: InPlace, x: Stack, gradient: Oracle, tau: int | Sequence[int]) -> tuple[Stack, ...]:
    """Return the models after tau steps of a solver from x, and the solver's ``kept`` vectors.

    Read the results before the clients of another block train, or the gradient function is called again: they may share
    its memory.

    Among clients with unequal numbers of steps, the clients with the most come first, and only the first few take step
    k: no unnecessary step is computed. If the module has explicit derivatives, the block runs all of its steps itself
    (:class:`fedspec_torch.federation.training.Trained`).

    Args:
        solver: the local solver.
        x: the models from which the clients begin; they aren't overwritten.
        gradient: function that returns the gradients of all clients, or of the first few.
        tau: each client's number of local steps; one number: the same for all clients.

    Raises:
        PlanError: a client's number of local steps isn't a whole number >= 1.
    """
    steps = [tau] * len(x) if isinstance(tau, int) else tau
    for tau_i in (steps[0], steps[-1]):
        check_steps(tau_i)
    alone = getattr(gradient, "run_in_place", None)
    found: tuple[Stack, ...] | None = alone and alone(solver, x, steps)
    return found or by_gradients(solver, x, gradient, steps)


def by_gradients(solver: InPlace, x: Stack, gradient: Oracle, steps: Sequence[int]) -> tuple[Stack, ...]:
    """Run a solver step by step, all clients of the block at once."""
    n, d = x.shape
    vectors: dict[str, Tensor] = {}
    kept = getattr(gradient, "memory", lambda x, name: torch.empty_like(x, memory_format=torch.contiguous_format))
    descend = getattr(gradient, "descend", lambda k, y, rate: False)

    def memory(name: str) -> Tensor:
        if name not in vectors:
            vectors[name] = kept(x, name)
        return vectors[name]

    block = Block(n, n, solver.parts or ((slice(0, d), (d,)),), layerwise=False, memory=memory)
    y = memory("y").copy_(x)
    step = solver.begin and solver.begin(block, y)
    for k, left in taken(steps):
        y_, g = y[:left], y
        if not (solver.rate and descend(k, y_, solver.rate(k))):
            g = gradient(k, y_)
            if solver.rate:
                torch.sub(y_, g, alpha=solver.rate(k), out=y_)
        if step:
            step(k, block.first(left), y, g.contiguous())
    return y, *(vectors[name] for name in solver.kept)
