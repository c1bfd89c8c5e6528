"""Forward and backward pass of stacked layers, written out: the fastest way for what most examples train.

A chain of ``Linear``, ``ReLU``, ``Tanh`` and ``Flatten`` under cross-entropy or a mean square, for n clients at once.
Activations are [n, features, b], examples last: products with a last axis of b = 32 run several times as fast as with
one of ten classes, and so does a softmax over the middle axis. Gradients are written where they belong, into one buffer
[n, d] that is used again at the next step.

    z = W h + c,  h' = a(z)                               forward
    dW = dz h^T,  dc = dz 1,  dh = W^T dz,  dz = dh * a'(z)    backward
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from fedspec.errors import FedspecError
from fedspec_torch.arith import Stack, Weights
from fedspec_torch.data import Examples


class LayersError(FedspecError):
    """A module or loss is none of those that are written out; the message names the part."""


@dataclass(frozen=True)
class Linear:
    """W h + c: where W and c stand in the vector of all parameters; no c where there is no bias."""

    weight: slice
    bias: slice | None
    inputs: int
    outputs: int


Layer = Linear | str
"""A linear layer, or the name of an activation."""


def layers_of(module: nn.Module, places: dict[int, slice]) -> tuple[Layer, ...]:
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
    out: list[Layer] = []
    for part in parts:
        match part:
            case nn.Linear():
                bias: Any = part.bias
                c = None if bias is None else places[id(bias)]
                out.append(Linear(places[id(part.weight)], c, part.in_features, part.out_features))
            case nn.ReLU():
                out.append("relu")
            case nn.Tanh():
                out.append("tanh")
    return tuple(out)


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


def cross_entropy(z: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy of every client and its derivative by z [n, classes, b]; z is overwritten.

    Raises:
        LayersError: the targets are no class numbers.
    """
    if targets.ndim != 2 or targets.is_floating_point():
        raise LayersError("layered: cross-entropy of class numbers only, one for each example")
    b, at = z.shape[2], targets[:, None, :]
    z = z.sub_(z.amax(1, keepdim=True))
    told = z.gather(1, at)
    p = z.exp_()
    total = p.sum(1, keepdim=True)
    losses = (total.log() - told).mean((1, 2))
    p.div_(total * b).scatter_add_(1, at, torch.full_like(told, -1 / b))
    return losses, p


def mean_square(z: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Mean square of every client's errors, and its derivative by z [n, outputs, b]; z is overwritten.

    Raises:
        LayersError: there is not one target for each output.
    """
    if targets.ndim != 3 or targets.shape[2] != z.shape[1]:
        raise LayersError("layered: a mean square takes a target for each output")
    error = z.sub_(targets.mT)
    losses = error.square().mean((1, 2))
    return losses, error.mul_(2 / (z.shape[1] * z.shape[2]))


def written_out(loss: Any) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
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


def gradients(
    layers: tuple[Layer, ...],
    loss: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    x: Stack,
    batch: Examples,
    g: Stack,
    *,
    turned: bool = False,
) -> Weights:
    """Write the gradients [n, d] at the models x of a block into g, and return the losses [n].

    Examples come one below the other, so that the first product has a transposed factor on its right. Where few
    outputs make such a product slow, one of its factors is copied in another order first (``turned``): 0.26 ms for 0.41
    ms at 100 clients, 64 features, 10 classes, b = 32 on one core of a Xeon; at 784 features and 200 outputs slower.
    """
    inputs, targets = batch
    h = inputs.reshape(*inputs.shape[:2], -1).mT
    # What the backward pass needs: of a linear layer its input, of an activation its output.
    kept: list[Tensor] = []
    for number, layer in enumerate(layers):
        if isinstance(layer, Linear):
            kept.append(h)
            W = _matrix(x, layer)
            if turned and number == 0 and layer.outputs < h.shape[2]:
                # W is the smaller factor, and z comes out examples first.
                h = (h.mT @ W.mT.contiguous()).mT.contiguous()
                h = h if layer.bias is None else h.add_(x[:, layer.bias].unsqueeze(2))
                continue
            if turned and number == 0:
                h = h.contiguous()
            h = W @ h if layer.bias is None else torch.baddbmm(x[:, layer.bias].unsqueeze(2), W, h)
            continue
        # Nobody else reads what a linear layer has just made.
        own = number > 0 and isinstance(layers[number - 1], Linear)
        a = {"relu": torch.relu_ if own else torch.relu, "tanh": torch.tanh_ if own else torch.tanh}[layer]
        h = a(h)
        kept.append(h)
    # The loss overwrites its input, which an activation at the end has kept.
    losses, dz = loss(h if isinstance(layers[-1], Linear) else h.clone(), targets)
    for number in reversed(range(len(layers))):
        layer, h = layers[number], kept[number]
        if isinstance(layer, Linear):
            # With out= at a stride of d the product takes three times as long.
            _matrix(g, layer).copy_(dz @ h.mT)
            if layer.bias is not None:
                torch.sum(dz, 2, out=g[:, layer.bias])
            if number:
                dz = _matrix(x, layer).mT @ dz
        elif layer == "relu":
            dz = torch.ops.aten.threshold_backward(dz, h, 0)
        else:
            dz = dz * (1 - h.square())
    return losses


def _matrix(x: Stack, layer: Linear) -> Tensor:
    W: Tensor = x[:, layer.weight].view(len(x), layer.outputs, layer.inputs)
    return W
