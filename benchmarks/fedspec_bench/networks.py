"""Real modules as workloads: a CNN, an LSTM, a transformer, and one with adapters. NumPy and nothing else.

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
"""Name and shape; what is called ``scale`` begins near one."""


def layer(name: str, inputs: int, outputs: int) -> Parameters:
    """A linear layer."""
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def normed(name: str, wide: int) -> Parameters:
    """The scale and shift of a normalisation."""
    yield f"{name}.scale", (wide,)
    yield f"{name}.shift", (wide,)


def cnn(*, batch_norm: bool) -> Parameters:
    """Two 5 x 5 convolutions of 16 and 32 channels on 28 x 28 pixels, each halved by a maximum, and ten classes."""
    for name, before, after in (("first", 1, 16), ("second", 16, 32)):
        yield f"{name}.weight", (after, before, 5, 5)
        yield f"{name}.bias", (after,)
        if batch_norm:
            yield from normed(name, after)
    yield from layer("out", 32 * 49, 10)


def lstm() -> Parameters:
    """The next word by two layers of 64 cells."""
    yield "words", (WORDS, 8)
    for name, inputs in (("lower", 8), ("upper", WIDE)):
        yield f"{name}.input", (4 * WIDE, inputs)
        yield f"{name}.hidden", (4 * WIDE, WIDE)
        yield f"{name}.input-bias", (4 * WIDE,)
        yield f"{name}.hidden-bias", (4 * WIDE,)
    yield from layer("out", WIDE, WORDS)


LINEAR = {"mixes": (WIDE, 3 * WIDE), "out": (WIDE, WIDE), "inner": (WIDE, 2 * WIDE), "outer": (2 * WIDE, WIDE)}
"""The linear layers of a block, with inputs and outputs."""


def transformer() -> Parameters:
    """The next word by two blocks of four heads and a layer of 128."""
    yield "places", (LONG, WIDE)
    yield "words", (WORDS, WIDE)
    for block in range(2):
        yield from normed(f"{block}.before", WIDE)
        yield from normed(f"{block}.after", WIDE)
        for name, (inputs, outputs) in LINEAR.items():
            yield from layer(f"{block}.{name}", inputs, outputs)
    yield from layer("out", WIDE, WORDS)


def adapters() -> Parameters:
    """Beside each linear layer of the blocks a product of rank four, which alone is trained (LoRA)."""
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
    """Parameters as one vector: uniform by the width of what they are multiplied with, scales near one."""
    rng, parts = np.random.default_rng(seed), []
    for name, shape in shapes.items():
        wide = prod(shape[1:]) if len(shape) > 1 else WIDE
        parts.append(rng.uniform(-1, 1, prod(shape)) * wide**-0.5 + name.endswith("scale"))
    return np.concatenate(parts).astype(np.float32)


@dataclass(frozen=True)
class Network(Workload):
    """A real module and the clients that train it: ten clients, one epoch of ten minibatches of twenty."""

    sizes: tuple[int, ...] = ()
    eta_l: float = 0.05
    clients: int = 10
    examples: int = 200
    batch: int = 20
    steps: int | tuple[int, int] = 10

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The parameters that are trained, by name, in torch's order."""
        return TRAINED[self.name]

    @property
    def flops(self) -> int:
        """Not counted."""
        return 0

    @cached_property
    def data(self) -> tuple[Array, Array]:
        """Pictures [clients, examples, 1, 28, 28] in float32, or words [clients, examples, 32]; and classes."""
        rng, several = np.random.default_rng(0), (self.clients, self.examples)
        if self.name.startswith("cnn"):
            return rng.standard_normal((*several, 1, 28, 28), dtype=np.float32), rng.integers(10, size=several)
        return rng.integers(WORDS, size=(*several, LONG)), rng.integers(WORDS, size=several)

    @cached_property
    def start(self) -> Array:
        """The initial values of what is trained, as one vector."""
        return draw_parameters(self.shapes, 1)

    @cached_property
    def frozen(self) -> Array:
        """Parameters that are not trained, as one vector in the order of :func:`transformer`; empty except with
        adapters."""
        shapes = FROZEN.get(self.name, {})
        return draw_parameters(shapes, 2) if shapes else np.empty(0, np.float32)

    def loss(self, x: Array) -> float:
        """Mean over clients of a model's loss on all their examples, in float64, by torch."""
        from fedspec_bench.peers.torch_optim.networks import loss

        return loss(self, x)

    def gradient(self, x: Array, inputs: Array, targets: Array) -> Array:
        """Gradient of the mean loss of one minibatch, in the type of x, by torch."""
        from fedspec_bench.peers.torch_optim.networks import gradient

        return gradient(self, x, inputs, targets)


NETWORKS = {name: Network(name, eta_l=0.01 if name.startswith("cnn") else 0.05) for name in TRAINED}
"""At 0.05 a CNN on noise amplifies what float32 rounds within ten rounds: two correct ways end apart."""
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
