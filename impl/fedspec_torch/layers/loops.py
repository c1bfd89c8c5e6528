"""Chains of layers in compiled loops (:mod:`fedspec_torch.layers.compiled`), if numba and SciPy are installed.

The loops support linear layers with at most one activation each, in a CPU's memory; :func:`refusal` names anything
else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import torch

from fedspec.arith import Array
from fedspec.errors import to_install
from fedspec_torch.arith import Stack, Weights
from fedspec_torch.compiling import missing_packages, run_parallel, shares
from fedspec_torch.data.batches import Walk
from fedspec_torch.layers.chains import Chain, Loss, cross_entropy
from fedspec_torch.refusals import NoClassError

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


@dataclass(frozen=True, eq=False)
class Loops:
    """Compiled loops for one chain and minibatches of at most b examples.

    Attributes:
        classes: True if the loss is the cross-entropy; False if it is the mean squared error.
        table: the table of the chain's layers.
        memory: function that allocates the work space of one thread.
    """

    classes: bool
    table: Array
    memory: Callable[[], Memory]
    _memories: list[Memory] = field(default_factory=list)

    @classmethod
    def of(cls, chain: Chain, loss: Loss, x: Stack, b: int) -> Loops:
        """Build the loops for a chain, a loss and models like x."""
        layers = [stage.linear for stage in chain.stages]
        *places, end = accumulate((l.outputs * b for l in layers), initial=0)
        sizes = (2 * end, b * layers[0].inputs, max(ROOM, 2 * b, *(l.inputs for l in layers)))
        table = [
            (l.weight.start, l.bias.start if l.bias else -1, l.inputs, l.outputs, CODES[stage.activations], z, end + z)
            for l, stage, z in zip(layers, chain.stages, places, strict=True)
        ]

        def memory() -> Memory:
            return (*(x.new_empty(size).numpy() for size in sizes), np.empty(b, np.int64))

        return cls(loss is cross_entropy, np.array(table), memory)

    def steps(
        self,
        x: Stack,
        walk: Walk,
        first: int,
        tau: Sequence[int],
        to: Stack,
        scales: Sequence[float],
        *,
        adds: bool,
        told: bool = True,
        begun: Stack | None = None,
    ) -> Weights:
        """Write multiples of the gradients of minibatches to a stack, or add them; see the compiled function.

        Args:
            x: [n, d] the models.
            walk: the minibatches of these clients, or of a longer list of clients that begins with them.
            first: number of the local step of the first minibatch.
            tau: the number of minibatches of each client.
            to: [n, d] the array to which the gradients are written; may be x.
            scales: the factor of each step's gradients.
            adds: True if the gradients are added to the contents of ``to``.
            told: True if losses are computed.
            begun: [n, d] initial values that the thread of each client writes to the models first.

        Returns:
            The losses [n] of the first minibatches, or none.

        Raises:
            NoClassError: a target isn't a class number.
        """
        steps = import_module("fedspec_torch.layers.compiled").steps
        losses, none = x.new_empty(len(x) if told else 0), x.new_empty(0, 0)
        classes = walk.leaves[-1] if self.classes else none[:, :0].long().flatten()
        targets = none if self.classes else walk.leaves[-1]
        pool = [part.contiguous().numpy() for part in (walk.leaves[0].flatten(1), classes, targets)]
        order = np.empty((0, 0), np.int32) if walk.order is None else walk.order.numpy()
        X, T, Y, L = x.contiguous().numpy(), np.array(tau), to.numpy(), losses.numpy()
        # Of models that are seen several times one is enough.
        common = begun is not None and begun.stride(0) == 0
        B = (none if begun is None else begun[:1] if common else begun).contiguous().numpy()
        rates, table = np.array(scales, X.dtype), walk.table

        def some(own: slice) -> int:
            memory = self._memories.pop() if self._memories else self.memory()
            rows = (table[own], order[own], first, T[own], Y[own], rates, adds, L[own])
            found = int(steps(self.table, X[own], B if common else B[own], *pool, *rows, *memory))
            self._memories.append(memory)
            return found

        parts = shares(tau)
        found = run_parallel(some, parts, wakes=x.shape[1] > WAKING)
        for part, wrong in zip(parts, found, strict=True):
            if wrong >= 0:
                raise NoClassError(part.start + wrong, int(self.table[-1, 3]))
        return losses
