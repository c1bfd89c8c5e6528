"""Methods that run all local steps of plain SGD for a block of clients.

* ``compiled``: one client after another in compiled loops (:mod:`fedspec_torch.layers.loops`);
* ``fused``: a program for each client on a GPU (:mod:`fedspec_torch.gradients.fused`);
* ``alone``: one client after another, which takes any module: what the loop that a torch user writes first does;
* ``channels_last``: the same in that memory format;
* ``in place``: every step of all clients before the next one, by one of the ways to the gradients.

A client's model stays near the core through all of its steps in all of them but the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from fedspec_torch.arith import Ended, Stack, Vector, Weights
from fedspec_torch.data.batches import Batches
from fedspec_torch.data.examples import Examples, Minibatch
from fedspec_torch.federation.autotune import Run
from fedspec_torch.federation.batch_checks import naming_clients
from fedspec_torch.federation.statistics import Moving
from fedspec_torch.gradients import fused, module_state
from fedspec_torch.gradients.methods import ALONE, WRITTEN_OUT, Network, form_of
from fedspec_torch.layers import loops
from fedspec_torch.local.solvers import InPlace


def is_plain(solver: InPlace) -> bool:
    """True if the solver is plain SGD: a step is y - rate(k) g and nothing else."""
    return solver.rate is not None and solver.begin is None and not (solver.parts or solver.kept)


@dataclass(frozen=True)
class ClientExtras:
    """Clients' random seeds and running statistics.

    Attributes:
        seed: function that returns the seed of a client's draws at a local step; None: the module draws nothing.
        moving: the clients' running statistics; None: the module has none.
    """

    seed: Callable[[int, int], int] | None = None
    moving: Moving | None = None


def descend_alone(
    network: Network,
    y: Vector,
    batch: Callable[[int], Examples],
    rates: Sequence[float],
    client: int = 0,
    own: ClientExtras | None = None,
    form: torch.memory_format = torch.preserve_format,
) -> Tensor:
    """Take one client's steps y - rate(k) grad F(y; batch k) in place, and return the first minibatch's loss."""
    first: Tensor = y.new_empty(())
    own = own or ClientExtras()
    with network.lying_in(y, form=form) as parameters:
        if own.moving:
            module_state.write_buffers(network.running, own.moving.of([client])[0])
        for k, rate in enumerate(rates):
            if own.seed:
                module_state.sow(y.device, own.seed(client, k))
            loss = network.backward(batch(k), form)
            first = loss if k == 0 else first
            # A parameter that the loss does not see has the gradient zero.
            moved([p for p in parameters if p.grad is not None], rate)
        if own.moving:
            own.moving.moved([client], len(rates) - 1, module_state.read_buffers(network.running)[None])
    return first


def moved(parameters: Sequence[Tensor], rate: float) -> None:
    """Take an SGD step and clear the gradients; a single foreach call saves GPU launches for many small tensors."""
    grads = [p.grad for p in parameters if p.grad is not None]
    together: Any = None if any(g.is_sparse for g in grads) else torch._foreach_add_
    with torch.no_grad():
        if together and grads:
            together(parameters, grads, alpha=-rate)
        for p, g in zip(parameters, grads, strict=True):
            if not together:
                p.add_(g, alpha=-rate)
            p.grad = None


def runs(
    network: Network,
    way: str | None,
    batches: Batches,
    solver: InPlace,
    x: Stack,
    *,
    known: str | None,
    compiled: Callable[..., Weights],
    ignored: str,
    own: ClientExtras | None = None,
) -> dict[str, Run | str]:
    """Return the applicable run methods other than "in place" by name, or the reason why one can't run this block.

    Args:
        network: the module and the loss.
        way: the method that the user chose by name.
        batches: the minibatches of the block's clients.
        solver: plain SGD.
        x: the models from which the clients begin.
        known: the gradient method of this block, if one was chosen before.
        compiled: True if the method writes steps in compiled loops.
        ignored: the reason why no explicit method takes these clients' examples; empty if one does.
        own: the clients' state beside their models.
    """
    rate, walk = solver.rate, batches.walk
    assert rate

    def in_loops(tau: Sequence[int]) -> Ended:
        y = network.vector_of(x, "y")
        return (y,), compiled(y, 0, tau, y, [-rate(k) for k in range(tau[0])], begun=x)

    def in_one_kernel(tau: Sequence[int]) -> Ended:
        return fused.run(network.written_out[0], solver, x, walk, tau, network.buffer(x))

    def alone(tau: Sequence[int], form: torch.memory_format = torch.preserve_format) -> Ended:
        y = network.vector_of(x, "y").copy_(x)
        losses = y.new_empty(len(y))
        for i, client in enumerate(batches.clients):
            seen: list[Minibatch] = []

            def noted(k: int, i: int = i, seen: list[Minibatch] = seen) -> Examples:
                leaves = walk.at(i, k)
                seen[:] = [Minibatch(tuple(part[None] for part in leaves))]
                return leaves

            with naming_clients(network, [client], seen):
                losses[i] = descend_alone(network, y[i], noted, [rate(k) for k in range(tau[i])], client, own, form)
        return (y,), losses

    found: dict[str, Run | str] = {}
    if way == "fused" or fused.is_at_hand(x):
        found["fused"] = ignored or fused.refusal(network, x, walk) or in_one_kernel
    if way == "compiled" or (known in WRITTEN_OUT and x.device.type == "cpu"):
        found["compiled"] = ignored or loops.refusal(*network.written_out, x, walk) or in_loops
    if known in ALONE:
        found[ALONE[known]] = partial(alone, form=form_of(known))
    return found
