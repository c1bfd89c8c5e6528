"""Chains of linear layers and activations, for the explicit passes of :mod:`fedspec_torch.ways.layered`.

``Linear``, ``ReLU``, ``Tanh`` and ``Flatten`` one after another under cross-entropy or a mean square: what most
examples train. Outputs are [n, features, b], examples last: products with a last axis of b = 32 run several times as
fast as with one of ten classes, and so does a softmax over the middle axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from fedspec_torch.arith import Weights
from fedspec_torch.data.batches import Batches
from fedspec_torch.data.examples import IGNORED
from fedspec_torch.gradients.methods import Network
from fedspec_torch.gradients.module_state import hooked
from fedspec_torch.local.blocks import Part
from fedspec_torch.refusals import LayersError, Reason


@dataclass(frozen=True)
class Linear:
    """Layer W h + c: slices of W and c in the vector of all parameters; bias None without c."""

    weight: slice
    bias: slice | None
    inputs: int
    outputs: int


@dataclass(frozen=True)
class Stage:
    """Linear layer, and the names of the activations that follow it."""

    linear: Linear
    activations: tuple[str, ...]


@dataclass(frozen=True)
class Chain:
    """Layers of a module: activations before the first linear layer, then stages."""

    before: tuple[str, ...]
    stages: tuple[Stage, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Slices and shapes of weights and biases in the vector of all parameters, in its order."""
        found: list[Part] = []
        for l in (stage.linear for stage in self.stages):
            found.append((l.weight, (l.outputs, l.inputs)))
            if l.bias is not None:
                found.append((l.bias, (l.outputs,)))
        return tuple(sorted(found, key=lambda part: part[0].start))


def layers_of(network: Network) -> Chain:
    """Return the layers of a module in order.

    Raises:
        LayersError: the module has a part without an explicit derivative, a parameter that is frozen or used twice, or
            a layer whose weights have another shape than its in_features and out_features imply.
    """
    parts, ends = list(_chain(network.module)), pairwise(accumulate(network.sizes, initial=0))
    places = {id(p): slice(*at) for p, at in zip(network.parameters.values(), ends, strict=True)}
    used = [id(p) for part in parts for p in part.parameters()]
    if sorted(used) != sorted(places):
        frozen = f"others are {Reason.NOT_WRITTEN_OUT}"
        raise LayersError(f"every parameter must be trained, and belong to one layer; {frozen}")
    linears: list[Linear] = []
    activations: list[list[str]] = [[]]
    for part in parts:
        match part:
            case nn.Linear():
                W, sizes = part.weight, (part.out_features, part.in_features)
                bias: Any = part.bias
                if W.shape != sizes or (bias is not None and bias.shape != sizes[:1]):
                    shapes = f"{tuple(W.shape)}" + ("" if bias is None else f" and {tuple(bias.shape)}")
                    raise LayersError(
                        f"a Linear with weights of {shapes}, although its in_features and out_features mean {sizes}, "
                        f"is {Reason.NOT_WRITTEN_OUT}"
                    )
                c = None if bias is None else places[id(bias)]
                linears.append(Linear(places[id(W)], c, part.in_features, part.out_features))
                activations.append([])
            case nn.ReLU():
                activations[-1].append("relu")
            case nn.Tanh():
                activations[-1].append("tanh")
    first, *others = map(tuple, activations)
    return Chain(first, tuple(map(Stage, linears, others)))


def _chain(part: nn.Module) -> Iterator[nn.Module]:
    if not is_torchs_own(part):
        own = "with a hook, or a forward or parameters of its own,"
        raise LayersError(f"{type(part).__name__} {own} is {Reason.NOT_WRITTEN_OUT}")
    if type(part) is nn.Sequential:
        for inner in part:
            yield from _chain(inner)
    elif type(part) in (nn.Linear, nn.ReLU, nn.Tanh, nn.Identity) or (
        type(part) is nn.Flatten and (part.start_dim, part.end_dim) == (1, -1)
    ):
        yield part
    else:
        raise LayersError(f"{type(part).__name__} is {Reason.NOT_WRITTEN_OUT}")


def is_torchs_own(part: nn.Module) -> bool:
    """True if a submodule behaves as its type defines: no hook, no replaced method, plain parameters."""
    plain = all(type(p) is nn.Parameter for p in part.parameters(recurse=False))
    return plain and not hooked(part) and vars(part).keys() & {"forward", "__call__", "_call_impl"} == set()


Loss: TypeAlias = Callable[[Tensor, Tensor, Tensor, bool], tuple[Weights, float]]
"""Function of outputs z [n, outputs, b], targets, a buffer like z, and whether to compute losses; it returns each
client's mean loss and a factor: the losses' derivative by z is the factor times the buffer's new content.
"""


def cross_entropy(z: Tensor, targets: Tensor, out: Tensor, told: bool) -> tuple[Weights, float]:
    """Mean cross-entropy; writes softmax(z) minus one at the target to ``out``, and returns the factor 1 / b.

    Raises:
        LayersError: the targets aren't class numbers.
    """
    if targets.ndim != 2 or targets.dtype != torch.int64:
        others = f"others are {Reason.NOT_WRITTEN_OUT}"
        raise LayersError(f"cross-entropy of class numbers (int64) only, one for each example; {others}")
    at = targets[:, None, :]
    losses = (z.logsumexp(1, keepdim=True) - z.gather(1, at)).mean((1, 2)) if told else z.new_empty(0)
    torch.ops.aten._softmax.out(z, 1, False, out=out)
    out.scatter_add_(1, at, z.new_full((1, 1, 1), -1).expand(at.shape))
    return losses, 1 / z.shape[2]


def mean_square(z: Tensor, targets: Tensor, out: Tensor, told: bool) -> tuple[Weights, float]:
    """Mean squared error; writes the errors to ``out``, and returns the factor 2 / (outputs b).

    Raises:
        LayersError: outputs and targets differ in number.
    """
    if targets.ndim != 3 or targets.shape[2] != z.shape[1]:
        raise LayersError(f"a mean square needs one target for each output; other targets are {Reason.NOT_WRITTEN_OUT}")
    error = torch.sub(z, targets.mT, out=out)
    return error.square().mean((1, 2)) if told else z.new_empty(0), 2 / (z.shape[1] * z.shape[2])


def written_out(loss: Any) -> Loss:
    """Return the loss with its explicit derivative.

    Raises:
        LayersError: there is no explicit derivative of the loss.
    """
    functional = nn.functional
    if isinstance(loss, nn.Module) and not is_torchs_own(loss):
        raise LayersError(
            f"the loss {type(loss).__name__} with a hook or a replaced method is {Reason.NOT_WRITTEN_OUT}"
        )
    if loss is functional.cross_entropy:
        return cross_entropy
    if loss is functional.mse_loss:
        return mean_square
    # Of these types exactly: what is derived from them may do anything.
    plain: dict[str, Any] = {"reduction": "mean"}
    if type(loss) is nn.CrossEntropyLoss:
        plain |= {"weight": None, "ignore_index": IGNORED, "label_smoothing": 0}
    if type(loss) in (nn.CrossEntropyLoss, nn.MSELoss):
        others = [name for name, want in plain.items() if _is_other(getattr(loss, name), want)]
        if not others:
            return cross_entropy if type(loss) is nn.CrossEntropyLoss else mean_square
        raise LayersError(f"the loss {type(loss).__name__} with {', '.join(others)} is {Reason.NOT_WRITTEN_OUT}")
    raise LayersError(f"the loss {getattr(loss, '__name__', type(loss).__name__)} is {Reason.NOT_WRITTEN_OUT}")


def _is_other(got: Any, want: Any) -> bool:
    """True if an option differs from its default; a tensor always does."""
    return isinstance(got, Tensor) or got != want


def explicit(network: Network) -> tuple[Chain, Loss]:
    """Return the layers and the loss of a module that is written out.

    Raises:
        LayersError: there is no explicit derivative of the module or the loss, or not in this precision.
    """
    if network.precision:
        raise LayersError(f"{network.precision} is {Reason.NOT_WRITTEN_OUT}")

    made: tuple[Chain, Loss] = network.kept("layers", lambda: (layers_of(network), written_out(network.loss)))
    return made


def refusal(network: Network, batches: Batches | None = None) -> str:
    """Return why a module, a loss or clients' examples aren't written out; "" if they are."""
    try:
        _, loss = explicit(network)
    except LayersError as error:
        return str(error)
    if batches is None or loss is not cross_entropy or not batches.ignores:
        return ""
    return f"targets of {IGNORED}, which cross-entropy leaves out, are {Reason.NOT_WRITTEN_OUT}"
