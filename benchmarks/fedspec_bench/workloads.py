"""Workload of the benchmarks: synthetic softmax classification by clients, with ordered minibatches. Needs only NumPy.

Every implementation trains on the same numbers, from the same model, over the same minibatches in the same order: a
round is K local SGD steps of every client of the cohort, step k on its examples kb to (k+1)b, and the plain mean of
their models. So all of them must end with the same loss, which is computed here, in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class Workload:
    """Model and the clients that train it.

    Attributes:
        name: name of the workload.
        sizes: the widths of its layers, ReLU between them.
        eta_l: the clients' rate.
        clients: N; all of them take part.
        examples: n_i, the same for all.
        batch: b.
        steps: K, or between which numbers K_i is drawn, both of them possible.
    """

    name: str
    sizes: tuple[int, ...]
    eta_l: float
    clients: int = 100
    examples: int = 320
    batch: int = 32
    steps: int | tuple[int, int] = 10

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of each linear layer."""
        return tuple(pairwise(self.sizes))

    @property
    def d(self) -> int:
        """Number of parameters."""
        return sum(map(prod, self.shapes.values()))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the trained parameters by name, in the order of the vector."""
        found: dict[str, tuple[int, ...]] = {}
        for number, (inputs, outputs) in enumerate(self.layers):
            found |= {f"{number}.weight": (outputs, inputs), f"{number}.bias": (outputs,)}
        return found

    @property
    def flops(self) -> int:
        """Operations of a client step's matrix products: forward, weight gradients, and all input gradients except the
        first layer's.

        A product of [m, k] and [k, n] counts 2 m k n.
        """
        (first, *rest) = (inputs * outputs for inputs, outputs in self.layers)
        return 2 * self.batch * (2 * first + 3 * sum(rest))

    @cached_property
    def data(self) -> tuple[Array, Array]:
        """Inputs [clients, examples, features] in float32, and classes [clients, examples] of one noisy linear rule."""
        rng = np.random.default_rng(0)
        inputs = rng.standard_normal((self.clients, self.examples, self.sizes[0]), dtype=np.float32)
        rule = rng.standard_normal((self.sizes[0], self.sizes[-1]), dtype=np.float32)
        scores = inputs @ rule * np.float32(self.sizes[0] ** -0.5)
        scores += 0.5 * rng.standard_normal(scores.shape, dtype=np.float32)
        return inputs, scores.argmax(-1)

    @cached_property
    def start(self) -> Array:
        """Initial model as one vector: for each layer W [outputs, inputs] row by row, then its bias."""
        rng = np.random.default_rng(1)
        parts = []
        for inputs, outputs in self.layers:
            parts += [rng.uniform(-1, 1, size) * inputs**-0.5 for size in (outputs * inputs, outputs)]
        return np.concatenate(parts).astype(np.float32)

    def split(self, x: Array) -> list[tuple[Array, Array]]:
        """Return W and bias of each layer, as views of a vector."""
        found, at = [], 0
        for inputs, outputs in self.layers:
            W = x[at : at + outputs * inputs].reshape(outputs, inputs)
            at += outputs * inputs
            found.append((W, x[at : at + outputs]))
            at += outputs
        return found

    def loss(self, x: Array) -> float:
        """Return a model's loss on all examples of all clients, in float64."""
        inputs, targets = self.data
        total = 0.0
        for some, classes in zip(inputs, targets, strict=True):
            z = forward(self.split(x.astype(np.float64)), some.astype(np.float64))[-1]
            z -= z.max(1, keepdims=True)
            total += float((np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), classes]).sum())
        return total / targets.size

    def gradient(self, x: Array, inputs: Array, targets: Array) -> Array:
        """Return the gradient of a minibatch's mean loss, in x's dtype."""
        return gradient(self, x, inputs, targets)


def forward(layers: Sequence[tuple[Array, Array]], h: Array) -> list[Array]:
    """Return the inputs of every layer, and the output of the last."""
    kept = [h]
    for number, (W, bias) in enumerate(layers):
        h = h @ W.T + bias
        if number + 1 < len(layers):
            h = np.maximum(h, 0)
        kept.append(h)
    return kept


def gradient(work: Workload, x: Array, inputs: Array, targets: Array) -> Array:
    """Return the gradient of a minibatch's mean cross-entropy, in x's dtype."""
    layers = work.split(x)
    *kept, z = forward(layers, inputs)
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(p)), targets] -= 1
    dz, g = p / x.dtype.type(len(p)), np.empty_like(x)
    for (W, _), (dW, dc), h in zip(layers[::-1], work.split(g)[::-1], kept[::-1], strict=True):
        np.matmul(dz.T, h, out=dW)
        dz.sum(0, out=dc)
        dz = (dz @ W) * (h > 0)
    return g
