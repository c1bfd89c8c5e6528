"""The memory in which chains of layers are passed forward and backward, the same at every step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from fedspec_torch.arith import Stack
from fedspec_torch.layers.chains import Chain
from fedspec_torch.local.blocks import Block


@dataclass(frozen=True, eq=False)
class Workspace:
    """Memory of n clients with minibatches of b.

    Attributes:
        z: [n, outputs, b], what a layer gives.
        dh: [n, inputs, b], the derivative by what it takes in.
        sums: [n, outputs, 1].
        dz: [n, outputs, b] of the last layer.
        narrow: weights [n, inputs, outputs] and outputs [n, b, outputs] of the first layer, if it is narrow.
        vectors: of n d numbers, as many as were asked for, by name.
        parts: those of the first few clients, by how many.
    """

    z: tuple[Tensor, ...]
    dh: tuple[Tensor, ...]
    sums: tuple[Tensor, ...]
    dz: Tensor
    narrow: tuple[Tensor, Tensor]
    vectors: dict[str, Tensor]
    parts: dict[int, Workspace] = field(default_factory=dict)

    @classmethod
    def of(cls, chain: Chain, x: Stack, b: int) -> Workspace:
        """For such a stack; nothing of it is written yet."""
        n, layers = len(x), [stage.linear for stage in chain.stages]
        first = layers[0]
        narrow = is_narrow(chain, b)
        return cls(
            tuple(x.new_empty(n, l.outputs, b) for l in layers),
            (x.new_empty(0), *(x.new_empty(n, l.inputs, b) for l in layers[1:])),
            tuple(x.new_empty(n, l.outputs, 1) for l in layers),
            x.new_empty(n, layers[-1].outputs, b),
            (x.new_empty(n, first.inputs, first.outputs * narrow), x.new_empty(n, b * narrow, first.outputs)),
            {},
        )

    def first(self, n: int) -> Workspace:
        """The part of the first n clients."""
        if n == len(self.dz):
            return self
        if n not in self.parts:
            self.parts[n] = Workspace(**{name: _first(part, n) for name, part in vars(self).items()})
        return self.parts[n]

    def block(self, chain: Chain, x: Stack) -> Block:
        """Its memory for the vectors of such a stack, which has no more clients than that for which it was made."""

        def memory(name: str) -> Tensor:
            if name not in self.vectors or len(self.vectors[name]) < x.numel():
                self.vectors[name] = x.new_empty(x.numel())
            return self.vectors[name][: x.numel()]

        return Block(len(x), len(x), chain.parts, layerwise=True, memory=memory)


def is_narrow(chain: Chain, b: int) -> bool:
    """True if the first layer has fewer outputs than a batch has examples."""
    return chain.stages[0].linear.outputs < b


def _first(part: Any, n: int) -> Any:
    if isinstance(part, tuple):
        return tuple(_first(inner, n) for inner in part)
    return part if isinstance(part, dict) else part[:n]
