"""Real modules as workloads: a CNN (also with BatchNorm), an LSTM, a transformer, and one with LoRA adapters. Needs
only NumPy.

What each parameter is stands here once, in the order in which torch has them; the modules themselves are written by
whoever trains them. Examples are noise: what is compared is time, and that all end with one loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from fedspec_bench.workloads import Array, Workload

WORDS, LONG, WIDE, RANK = 80, 32, 64, 4
Parameters = Iterator[tuple[str, tuple[int, ...]]]
"""Names and shapes of parameters; one named ``scale`` is initialised near one."""


def layer(name: str, inputs: int, outputs: int) -> Parameters:
    """Yield the parameters of a linear layer."""
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def normed(name: str, wide: int) -> Parameters:
    """Yield the scale and shift of a normalisation layer."""
    yield f"{name}.scale", (wide,)
    yield f"{name}.shift", (wide,)


def cnn(*, batch_norm: bool) -> Parameters:
    """Yield the parameters of a CNN: two 5 x 5 convolutions (16, 32 channels), max-pooling, ten classes, 28 x 28
    pixels.
    """
    for name, before, after in (("first", 1, 16), ("second", 16, 32)):
        yield f"{name}.weight", (after, before, 5, 5)
        yield f"{name}.bias", (after,)
        if batch_norm:
            yield from normed(name, after)
    yield from layer("out", 32 * 49, 10)


def lstm() -> Parameters:
    """Yield the parameters of a next-word LSTM with two layers of 64 cells."""
    yield "words", (WORDS, 8)
    for name, inputs in (("lower", 8), ("upper", WIDE)):
        yield f"{name}.input", (4 * WIDE, inputs)
        yield f"{name}.hidden", (4 * WIDE, WIDE)
        yield f"{name}.input-bias", (4 * WIDE,)
        yield f"{name}.hidden-bias", (4 * WIDE,)
    yield from layer("out", WIDE, WORDS)


LINEAR = {"mixes": (WIDE, 3 * WIDE), "out": (WIDE, WIDE), "inner": (WIDE, 2 * WIDE), "outer": (2 * WIDE, WIDE)}
"""Linear layers of a transformer block, with inputs and outputs."""


def transformer() -> Parameters:
    """Yield the parameters of a next-word transformer: two blocks with four heads and a layer of 128."""
    yield "places", (LONG, WIDE)
    yield "words", (WORDS, WIDE)
    for block in range(2):
        yield from normed(f"{block}.before", WIDE)
        yield from normed(f"{block}.after", WIDE)
        for name, (inputs, outputs) in LINEAR.items():
            yield from layer(f"{block}.{name}", inputs, outputs)
    yield from layer("out", WIDE, WORDS)


def adapters() -> Parameters:
    """Yield the parameters of LoRA: a rank-four product for each linear layer of the blocks; only these are trained."""
    for block in range(2):
        for name, (inputs, outputs) in LINEAR.items():
            yield f"{block}.{name}.down", (RANK, inputs)
            yield f"{block}.{name}.up", (outputs, RANK)


TRAINED = {
    "cnn": dict(cnn(batch_norm=False)),
    "cnn-bn": dict(cnn(batch_norm=True)),
    "lstm": dict(lstm()),
    "transformer": dict(transformer()),
    "lora": dict(adapters()),
}
FROZEN = {"lora": dict(transformer())}


def draw_parameters(shapes: dict[str, tuple[int, ...]], seed: int) -> Array:
    """Draw parameters as one vector: uniform, scaled by fan-in, scales near one."""
    rng, parts = np.random.default_rng(seed), []
    for name, shape in shapes.items():
        wide = prod(shape[1:]) if len(shape) > 1 else WIDE
        parts.append(rng.uniform(-1, 1, prod(shape)) * wide**-0.5 + name.endswith("scale"))
    return np.concatenate(parts).astype(np.float32)


@dataclass(frozen=True)
class Network(Workload):
    """Workload with a real module: ten clients, one epoch of ten minibatches of twenty."""

    sizes: tuple[int, ...] = ()
    eta_l: float = 0.05
    clients: int = 10
    examples: int = 200
    batch: int = 20
    steps: int | tuple[int, int] = 10

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the trained parameters, by name, in torch's order."""
        return TRAINED[self.name]

    @property
    def flops(self) -> int:
        """Zero: operations of real modules aren't counted."""
        return 0

    @cached_property
    def data(self) -> tuple[Array, Array]:
        """Images [clients, examples, 1, 28, 28] in float32, or words [clients, examples, 32]; and classes."""
        rng, several = np.random.default_rng(0), (self.clients, self.examples)
        if self.name.startswith("cnn"):
            return rng.standard_normal((*several, 1, 28, 28), dtype=np.float32), rng.integers(10, size=several)
        return rng.integers(WORDS, size=(*several, LONG)), rng.integers(WORDS, size=several)

    @cached_property
    def start(self) -> Array:
        """Initial values of the trained parameters, as one vector."""
        return draw_parameters(self.shapes, 1)

    @cached_property
    def frozen(self) -> Array:
        """Frozen parameters as one vector, in the order of :func:`transformer`; empty except for LoRA."""
        shapes = FROZEN.get(self.name, {})
        return draw_parameters(shapes, 2) if shapes else np.empty(0, np.float32)

    def loss(self, x: Array) -> float:
        """Return the mean over clients of the loss on all their examples, computed by torch in float64."""
        from fedspec_bench.peers.torch_optim.networks import loss

        return loss(self, x)

    def gradient(self, x: Array, inputs: Array, targets: Array) -> Array:
        """Return the gradient of a minibatch's mean loss, computed by torch, in x's dtype."""
        from fedspec_bench.peers.torch_optim.networks import gradient

        return gradient(self, x, inputs, targets)


NETWORKS = {name: Network(name, eta_l=0.01 if name.startswith("cnn") else 0.05) for name in TRAINED}
"""Real modules by name. At 0.05 a CNN on noise amplifies float32 rounding within ten rounds, so that two correct
methods end apart.
"""
WORKLOADS: dict[str, Workload] = {
    work.name: work
    for work in (
        # Logistic regression, one hidden layer, two hidden layers: d = 650, 9 610 and 199 210.
        Workload("lr", (64, 10), eta_l=0.1),
        Workload("mlp", (64, 128, 10), eta_l=0.1),
        Workload("2nn", (784, 200, 200, 10), eta_l=0.1),
        *NETWORKS.values(),
    )
}
