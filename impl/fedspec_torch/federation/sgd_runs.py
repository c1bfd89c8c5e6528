"""All local steps of plain SGD for one client after another, which takes any module.

It is what the loop that a torch user writes first does. A client's model stays near the core through all of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from fedspec_torch.arith import Ended, Stack
from fedspec_torch.data.batches import Batches
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.federation.batch_checks import naming_clients
from fedspec_torch.federation.statistics import Moving
from fedspec_torch.gradients import module_state
from fedspec_torch.gradients.interface import Run
from fedspec_torch.gradients.methods import Network
from fedspec_torch.local.solvers import InPlace


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


def run_alone(
    network: Network,
    batches: Batches,
    solver: InPlace,
    x: Stack,
    form: torch.memory_format,
    seed: Callable[[int, int], int],
    moving: Moving | None,
) -> Run:
    """Return the run of a block by plain SGD, one client after another.

    Args:
        network: the module and the loss.
        batches: the minibatches of the block's clients.
        solver: plain SGD.
        x: the models from which the clients begin.
        form: the memory format of images and of convolution weights.
        seed: function that returns the seed of a client's draws at a local step.
        moving: the clients' running statistics; None: the module has none.
    """
    rate, walk = solver.rate, batches.walk
    assert rate

    def alone(tau: Sequence[int]) -> Ended:
        y = network.buffer(x, "y").copy_(x)
        losses = y.new_empty(len(y))
        for i, client in enumerate(batches.clients):
            seen: list[Minibatch] = []
            with naming_clients(network, [client], seen), network.lying_in(y[i], form=form) as parameters:
                if moving:
                    module_state.write_buffers(network.running, moving.of([client])[0])
                for k in range(tau[i]):
                    if network.draws:
                        module_state.sow(y.device, seed(client, k))
                    leaves = walk.at(i, k)
                    seen[:] = [Minibatch(tuple(part[None] for part in leaves))]
                    loss = network.backward(leaves, form)
                    if k == 0:
                        losses[i] = loss
                    # A parameter that the loss does not see has the gradient zero.
                    moved([p for p in parameters if p.grad is not None], rate(k))
                if moving:
                    moving.moved([client], tau[i] - 1, module_state.read_buffers(network.running)[None])
        return (y,), losses

    return alone
