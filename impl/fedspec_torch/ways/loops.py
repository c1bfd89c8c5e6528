"""Chains of layers in compiled loops (:mod:`fedspec_torch.ways.compiled`), if numba and SciPy are installed.

The loops support linear layers with at most one activation each, in a CPU's memory; :func:`refusal` names anything
else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import torch

from fedspec.arith import Array
from fedspec.errors import to_install
from fedspec_torch.arith import Ended, Stack, Weights
from fedspec_torch.compiling import missing_packages, run_parallel, shares
from fedspec_torch.data.batches import Walk
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.gradients.interface import Job, Run
from fedspec_torch.gradients.methods import Network
from fedspec_torch.refusals import LayersError, NoClassError, Reason
from fedspec_torch.ways.chains import Chain, Loss, cross_entropy, explicit

ROOM = 2**14
"""Entries of the buffer for products: few enough to stay in the first-level cache."""

WAKING = 2**12
"""Number of a model's entries above which BLAS may use several threads for a product."""

CODES: dict[tuple[str, ...], int] = {(): 0, ("relu",): 1, ("tanh",): 2}
"""Codes of a layer's activations in the table of layers."""

Memory: TypeAlias = tuple[Array, ...]
"""Buffers of one thread; see the compiled function."""


def refusal(chain: Chain, loss: Loss, x: Stack, walk: Walk) -> str:
    """Return why the loops can't run such a block; "" if they can."""
    missing = missing_packages()
    features, outputs = chain.stages[0].linear.inputs, chain.stages[-1].linear.outputs
    inputs, targets = walk.leaves[0].flatten(1), walk.leaves[-1]
    if missing:
        return f"{', '.join(missing)} not installed: {to_install('fast', 'fedspec-torch')}"
    if x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64):
        return f"models in {x.dtype} on {x.device.type}, not in float32 or float64 on a CPU"
    if chain.before or any(stage.activations not in CODES for stage in chain.stages):
        return "an activation before the first layer, or two after one"
    if inputs.dtype != x.dtype or inputs.shape[1] != features:
        return f"{inputs.shape[1]} features in {inputs.dtype}, not {features} in {x.dtype}"
    if loss is cross_entropy:
        are_classes = targets.ndim == 1 and targets.dtype == torch.int64
        return "" if are_classes else "targets that are no class numbers in int64"
    if targets.dtype != x.dtype:
        return f"targets in {targets.dtype}, not {x.dtype}"
    return "" if targets.shape[1:] == (outputs,) else "a mean square without a target for each output"


def prepared(chain: Chain, x: Stack, b: int) -> tuple[Array, Callable[[], Memory], list[Memory]]:
    """Return what the loops need for models like x and minibatches of at most b examples.

    Returns:
        The table of the chain's layers, a function that allocates the work space of one thread, and an empty list of
        work spaces that no thread uses now.
    """
    layers = [stage.linear for stage in chain.stages]
    *places, end = accumulate((l.outputs * b for l in layers), initial=0)
    sizes = (2 * end, b * layers[0].inputs, max(ROOM, 2 * b, *(l.inputs for l in layers)))
    table = [
        (l.weight.start, l.bias.start if l.bias else -1, l.inputs, l.outputs, CODES[stage.activations], z, end + z)
        for l, stage, z in zip(layers, chain.stages, places, strict=True)
    ]

    def memory() -> Memory:
        return (*(x.new_empty(size).numpy() for size in sizes), np.empty(b, np.int64))

    return np.array(table), memory, []


def steps(
    network: Network,
    x: Stack,
    walk: Walk,
    first: int,
    tau: Sequence[int],
    to: Stack,
    scales: Sequence[float],
    *,
    told: bool = True,
    begun: Stack | None = None,
) -> Weights:
    """Write multiples of the gradients of minibatches to a stack, or add them; see the compiled function.

    Args:
        network: the module and the loss.
        x: [n, d] the models.
        walk: the minibatches of these clients, or of a longer list of clients that begins with them.
        first: number of the local step of the first minibatch.
        tau: the number of minibatches of each client.
        to: [n, d] the array to which the gradients are written; if it is x, they are added.
        scales: the factor of each step's gradients.
        told: True if losses are computed.
        begun: [n, d] initial values that the thread of each client writes to the models first.

    Returns:
        The losses [n] of the first minibatches, or none.

    Raises:
        NoClassError: a target isn't a class number.
        LayersError: the compiled loops don't support the module, the loss, the precision, models or minibatches.
    """
    chain, loss = explicit(network)
    if refused := refusal(chain, loss, x, walk):
        raise LayersError(f"{refused}; {Reason.NOT_WRITTEN_OUT} there")
    b, run_steps = int(walk.sizes.max()), import_module("fedspec_torch.ways.compiled").steps
    layers, memory, unused = network.kept("loops", lambda: prepared(chain, x, b), x[:1], b)
    losses, none = x.new_empty(len(x) if told else 0), x.new_empty(0, 0)
    classes, targets = walk.leaves[-1], none
    if loss is not cross_entropy:
        classes, targets = none[:, :0].long().flatten(), walk.leaves[-1]
    pool = [part.contiguous().numpy() for part in (walk.leaves[0].flatten(1), classes, targets)]
    order = np.empty((0, 0), np.int32) if walk.order is None else walk.order.numpy()
    X, T, Y, L = x.contiguous().numpy(), np.array(tau), to.numpy(), losses.numpy()
    # Of models that are seen several times one is enough.
    common = begun is not None and begun.stride(0) == 0
    B = (none if begun is None else begun[:1] if common else begun).contiguous().numpy()
    rates, table = np.array(scales, X.dtype), walk.table

    def some(own: slice) -> int:
        own_memory = unused.pop() if unused else memory()
        rows = (table[own], order[own], first, T[own], Y[own], rates, to is x, L[own])
        found = int(run_steps(layers, X[own], B if common else B[own], *pool, *rows, *own_memory))
        unused.append(own_memory)
        return found

    parts = shares(tau)
    found = run_parallel(some, parts, wakes=x.shape[1] > WAKING)
    for part, wrong in zip(parts, found, strict=True):
        if wrong >= 0:
            raise NoClassError(part.start + wrong, int(layers[-1, 3]))
    return losses


def compiled(network: Network, x: Stack, batch: Minibatch, *, told: bool = True) -> tuple[Stack, Weights]:
    """Gradients of chains of linear layers and activations, in loops that numba compiles.

    Raises:
        LayersError: the compiled loops don't support the module, the loss, the precision, the models or the minibatch.
    """
    (n, b), g = batch.leaves[-1].shape[:2], network.buffer(x)
    each = np.full(n, b)
    walk = Walk(each, tuple(part.flatten(0, 1) for part in batch.leaves), b * np.arange(n), each, None)
    return g, steps(network, x, walk, 0, [1] * n, g, [1], told=told)


def run(job: Job) -> Run | None:
    """Return the run of plain SGD; None for another solver."""
    rate, network, x, walk = job.solver.rate, job.network, job.x, job.batches.walk
    if not rate or not job.solver.is_plain:
        return None

    def in_loops(tau: Sequence[int]) -> Ended:
        y = network.buffer(x, "y")
        return (y,), steps(network, y, walk, 0, tau, y, [-rate(k) for k in range(tau[0])], begun=x)

    return in_loops
