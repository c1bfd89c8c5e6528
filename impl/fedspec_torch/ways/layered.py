"""Chains of layers by the explicit passes of :mod:`fedspec_torch.ways.descent`: gradients, and whole local runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fedspec_torch.arith import Ended, Stack, Weights
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.gradients.interface import Job, Run
from fedspec_torch.gradients.methods import Network
from fedspec_torch.ways.chains import explicit
from fedspec_torch.ways.descent import gradients, run_in_place
from fedspec_torch.ways.graphs import replayed
from fedspec_torch.ways.workspace import Workspace


def workspace(network: Network, x: Stack, b: int) -> Workspace:
    """Return this thread's workspace for such a block with minibatches of b."""
    found: Workspace = network.kept("work", lambda: Workspace.of(explicit(network)[0], x, b), x, b)
    return found.first(len(x))


def layered(network: Network, x: Stack, batch: Minibatch, *, told: bool = True) -> tuple[Stack, Weights]:
    """Gradients of chains of linear layers and activations, by explicit forward and backward passes in torch.

    If the caller doesn't ask for losses, they are empty.

    Raises:
        LayersError: there is no explicit derivative of the module or the loss.
    """
    chain, loss = explicit(network)
    g, work = network.buffer(x), workspace(network, x, batch.leaves[0].shape[1])
    return g, gradients(chain, loss, x, batch, work, g, told=told)


def run(job: Job) -> Run | None:
    """Return the run of a solver whose parts, if it has any, are the layers'; None for minibatches of several sizes."""
    (chain, loss), sizes = explicit(job.network), job.batches.sizes
    parts = [at for at, _ in job.solver.parts]
    if (sizes != sizes[0]).any() or (parts and parts != [at for at, _ in chain.parts]):
        return None
    b = int(sizes[0])

    def in_place(tau: Sequence[int]) -> Ended:
        work, seen = workspace(job.network, job.x, b), list[Minibatch]()

        def steps(x: Stack, batch: Callable[[int, int], Minibatch]) -> Ended:
            def noted(k: int, n: int) -> Minibatch:
                seen[:] = [batch(k, n)]
                return seen[0]

            return run_in_place(chain, loss, job.solver, x, noted, work, tau)

        # What cannot be read is no fault of the module.
        _ = job.batches.walk
        with job.naming(seen):
            ended = replayed(job, tau, b, steps, [work, *work.vectors.values()])
            return ended or steps(job.x, lambda k, n: job.batches.first(n).all_at(k, b))

    return in_place
