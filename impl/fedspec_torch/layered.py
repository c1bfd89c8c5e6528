"""Chains of linear layers and activations, which :mod:`fedspec_torch.descent` passes forward and backward by itself.

``Linear``, ``ReLU``, ``Tanh`` and ``Flatten`` one after another under cross-entropy or a mean square: what most
examples train. Outputs are [n, features, b], examples last: products with a last axis of b = 32 run several times as
fast as with one of ten classes, and so does a softmax over the middle axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from fedspec.errors import FedspecError
from fedspec_torch.arith import Weights
from fedspec_torch.blocks import Part


class LayersError(FedspecError):
    """A module or loss is none of those that are written out; the message names the part."""


@dataclass(frozen=True)
class Linear:
    """W h + c: where W and c stand in the vector of all parameters; no c where there is no bias."""

    weight: slice
    bias: slice | None
    inputs: int
    outputs: int


@dataclass(frozen=True)
class Stage:
    """A linear layer, and the names of the activations that follow it."""

    linear: Linear
    activations: tuple[str, ...]


@dataclass(frozen=True)
class Chain:
    """The layers of a module: activations of the inputs, where there are any, then its stages."""

    before: tuple[str, ...]
    stages: tuple[Stage, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Where weights and biases stand in the vector of all parameters, and their shapes, in its order."""
        found: list[Part] = []
        for l in (stage.linear for stage in self.stages):
            found.append((l.weight, (l.outputs, l.inputs)))
            if l.bias is not None:
                found.append((l.bias, (l.outputs,)))
        return tuple(sorted(found, key=lambda part: part[0].start))


def layers_of(module: nn.Module, places: dict[int, slice]) -> Chain:
    """The layers of a module in order.

    Args:
        module: what is trained.
        places: where every parameter stands in the vector, by its identity.

    Raises:
        LayersError: it has a part that is not written out, or a parameter that is frozen or used twice.
    """
    parts = list(_chain(module))
    used = [id(p) for part in parts for p in part.parameters()]
    if sorted(used) != sorted(places):
        raise LayersError("layered: every parameter is trained, and belongs to one layer")
    linears: list[Linear] = []
    activations: list[list[str]] = [[]]
    for part in parts:
        match part:
            case nn.Linear():
                bias: Any = part.bias
                c = None if bias is None else places[id(bias)]
                linears.append(Linear(places[id(part.weight)], c, part.in_features, part.out_features))
                activations.append([])
            case nn.ReLU():
                activations[-1].append("relu")
            case nn.Tanh():
                activations[-1].append("tanh")
    first, *others = map(tuple, activations)
    return Chain(first, tuple(map(Stage, linears, others)))


def _chain(part: nn.Module) -> Iterator[nn.Module]:
    hooked = part._forward_hooks or part._forward_pre_hooks or part._backward_hooks or part._backward_pre_hooks
    if type(part) is nn.Sequential and not hooked:
        for inner in part:
            yield from _chain(inner)
    elif (type(part) in (nn.Linear, nn.ReLU, nn.Tanh, nn.Identity) and not hooked) or (
        isinstance(part, nn.Flatten) and (part.start_dim, part.end_dim) == (1, -1) and not hooked
    ):
        yield part
    else:
        raise LayersError(f"layered: {type(part).__name__} is not written out")


Loss: TypeAlias = Callable[[Tensor, Tensor, Tensor, bool], tuple[Weights, float]]
"""From outputs z [n, outputs, b], targets and memory like z to every client's mean loss, if it is to be told, and a
factor: the derivative of the losses by z is that factor times what then stands in the memory."""


def cross_entropy(z: Tensor, targets: Tensor, out: Tensor, told: bool) -> tuple[Weights, float]:
    """Mean cross-entropy: softmax(z) less one at the target, times 1 / b.

    Raises:
        LayersError: the targets are no class numbers.
    """
    if targets.ndim != 2 or targets.is_floating_point():
        raise LayersError("layered: cross-entropy of class numbers only, one for each example")
    at = targets[:, None, :]
    losses = (z.logsumexp(1, keepdim=True) - z.gather(1, at)).mean((1, 2)) if told else z.new_empty(0)
    torch.ops.aten._softmax.out(z, 1, False, out=out)
    out.scatter_add_(1, at, z.new_full((1, 1, 1), -1).expand(at.shape))
    return losses, 1 / z.shape[2]


def mean_square(z: Tensor, targets: Tensor, out: Tensor, told: bool) -> tuple[Weights, float]:
    """Mean square of the errors: the errors, times 2 / (outputs b).

    Raises:
        LayersError: there is not one target for each output.
    """
    if targets.ndim != 3 or targets.shape[2] != z.shape[1]:
        raise LayersError("layered: a mean square takes a target for each output")
    error = torch.sub(z, targets.mT, out=out)
    return error.square().mean((1, 2)) if told else z.new_empty(0), 2 / (z.shape[1] * z.shape[2])


def written_out(loss: Any) -> Loss:
    """The loss with its derivative.

    Raises:
        LayersError: it is not written out.
    """
    functional = nn.functional
    match loss:
        case functional.cross_entropy:
            return cross_entropy
        case functional.mse_loss:
            return mean_square
        case nn.CrossEntropyLoss(weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
            return cross_entropy
        case nn.MSELoss(reduction="mean"):
            return mean_square
    raise LayersError(f"layered: the loss {getattr(loss, '__name__', type(loss).__name__)} is not written out")
