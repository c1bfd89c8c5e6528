"""Chains of layers in compiled loops (:mod:`fedspec_torch.compiled`), where numba and SciPy are at hand.

They take linear layers with at most one activation each, in a CPU's memory; what else there is they refuse by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedspec.arith import Array
from fedspec_torch.arith import Stack, Weights
from fedspec_torch.data import Minibatch
from fedspec_torch.layered import Chain, LayersError, Loss, cross_entropy

ROOM = 2**14
"""Entries of products that wait to be added: they stay in the cache nearest to the core."""

NEEDED = ("numba", "scipy")
"""What the loops are compiled with, and where their products come from."""

CODES: dict[tuple[str, ...], int] = {(): 0, ("relu",): 1, ("tanh",): 2}
"""Activations of a layer, as the loops have them."""


def check(chain: Chain, x: Stack) -> None:
    """Refuse what the loops do not take.

    Raises:
        LayersError: a package is missing, the models are elsewhere than in a CPU's memory or of another type than
            float32 or float64, or the layers are others.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise LayersError(f"compiled: {' and '.join(missing)} not installed; pip install 'fedspec[fast]'")
    if x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64):
        raise LayersError(f"compiled: models in float32 or float64 on a CPU only, not {x.dtype} on {x.device.type}")
    if chain.before or any(stage.activations not in CODES for stage in chain.stages):
        raise LayersError("compiled: at most one activation after each linear layer, none before the first")


@dataclass(frozen=True, eq=False)
class Loops:
    """The loops for one chain and batch size, with memory for one client.

    Attributes:
        classes: whether the loss is cross-entropy; else it is a mean square.
        table: the layers, see :mod:`fedspec_torch.compiled`.
        memory: z and dz of one client.
        room: for products that are added.
    """

    classes: bool
    table: Array
    memory: Array
    room: Array

    @classmethod
    def of(cls, chain: Chain, loss: Loss, x: Stack, b: int) -> Loops:
        """For such models and minibatches of b.

        Raises:
            LayersError: see :func:`check`.
        """
        check(chain, x)
        layers = [stage.linear for stage in chain.stages]
        ends = [*accumulate((l.outputs * b for l in layers), initial=0)]
        table = [
            (l.weight.start, -1 if l.bias is None else l.bias.start, l.inputs, l.outputs, CODES[stage.activations])
            for l, stage in zip(layers, chain.stages, strict=True)
        ]
        places = [(z, ends[-1] + z) for z in ends[:-1]]
        empty: Any = x.new_empty(2 * ends[-1] + max(ROOM, 2 * b, *(l.inputs for l in layers))).numpy()
        rows = [(*row, *at) for row, at in zip(table, places, strict=True)]
        return cls(loss is cross_entropy, np.array(rows), empty[: 2 * ends[-1]], empty[2 * ends[-1] :])

    def passed(self, x: Stack, batch: Minibatch, to: Stack, *, scale: float, adds: bool, told: bool) -> Weights:
        """Write scale times the gradients at the models to a stack, or add them; the losses, or none.

        Raises:
            TypeError: the minibatch is of another type, or has other features.
            IndexError: a target is no class.
            LayersError: the targets are of another shape.
        """
        features, outputs = int(self.table[0, 2]), int(self.table[-1, 3])
        inputs, every = _below(batch.inputs.flatten(2))
        if inputs.dtype != x.dtype or inputs.shape[1] != features:
            raise TypeError(f"inputs of {features} features in {x.dtype} are expected")
        classes, targets = _told(batch.targets, self.classes, outputs, x)
        losses = x.new_empty(len(x) if told else 0)
        wrong = import_module("fedspec_torch.compiled").passed(
            self.table,
            x.contiguous().numpy(),
            inputs.numpy(),
            every,
            classes.numpy(),
            targets.numpy(),
            to.numpy(),
            scale,
            adds,
            losses.numpy(),
            self.memory,
            self.room,
        )
        if wrong >= 0:
            raise IndexError(f"a class of the targets is not in 0 to {outputs - 1}")
        return losses


def _told(targets: Tensor, classes: bool, outputs: int, x: Stack) -> tuple[Tensor, Tensor]:
    """Classes [n, b] and numbers [n, b outputs], one of them empty."""
    none = targets.new_empty(len(targets), 0)
    if classes:
        if targets.ndim != 2 or targets.dtype != torch.int64:
            raise LayersError("compiled: cross-entropy of class numbers in int64 only, one for each example")
        return targets.contiguous(), none.to(x.dtype)
    if targets.ndim != 3 or targets.shape[2] != outputs:
        raise LayersError("compiled: a mean square takes a target for each output")
    return none.long(), targets.to(x.dtype).flatten(1).contiguous()


def _below(inputs: Tensor) -> tuple[Tensor, int]:
    """The examples [n, b, features] one below the other, maybe with others between clients, and how far these are."""
    (n, b, features), (client, example, feature) = inputs.shape, inputs.stride()
    if feature != 1 or example != features or client % features:
        inputs, client = inputs.contiguous(), b * features
    every = client // features
    return inputs.as_strided(((n - 1) * every + b, features), (features, 1)), every
