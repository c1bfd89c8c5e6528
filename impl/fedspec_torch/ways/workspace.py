"""Buffers for the forward and backward pass of chains of layers, reused at every step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from fedspec_torch.arith import Stack
from fedspec_torch.local.blocks import Block
from fedspec_torch.ways.chains import Chain


@dataclass(frozen=True, eq=False)
class Workspace:
    """Buffers for n clients with minibatches of b.

    Attributes:
        z: [n, outputs, b], the output of each layer.
        dh: [n, inputs, b], the derivative of the loss by each layer's input.
        sums: [n, outputs, 1], work space for sums over outputs.
        dz: [n, outputs, b] the derivative of the loss by the last layer's output.
        narrow: weights [n, inputs, outputs] and outputs [n, b, outputs] of the first layer, if this layer is narrow.
        vectors: work vectors of n d numbers, by name.
        parts: views of these buffers for the first few clients, by their number.
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
        """Allocate the buffers for such a stack, without initial values."""
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
        """Return views of the first n clients' buffers."""
        if n == len(self.dz):
            return self
        if n not in self.parts:
            self.parts[n] = Workspace(**{name: _first(part, n) for name, part in vars(self).items()})
        return self.parts[n]

    def block(self, chain: Chain, x: Stack) -> Block:
        """Return a block whose vectors are in this workspace; x may have fewer clients than the workspace."""

        def memory(name: str) -> Tensor:
            if name not in self.vectors or len(self.vectors[name]) < x.numel():
                self.vectors[name] = x.new_empty(x.numel())
            return self.vectors[name][: x.numel()]

        return Block(len(x), len(x), chain.parts, layerwise=True, memory=memory)


def is_narrow(chain: Chain, b: int) -> bool:
    """True if the first layer has fewer outputs than a minibatch has examples."""
    return chain.stages[0].linear.outputs < b


def _first(part: Any, n: int) -> Any:
    if isinstance(part, tuple):
        return tuple(_first(inner, n) for inner in part)
    return part if isinstance(part, dict) else part[:n]
