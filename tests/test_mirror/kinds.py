"""What a kind of module, loss and data is, and the parts that many kinds share."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

EXAMPLES = (4, 6, 4)
"""Of the clients, who take two at a time."""

Draw = Callable[[int], Tensor]
"""From a number of examples to their inputs, or to their targets."""


@dataclass(frozen=True)
class Kind:
    """A module, a loss and data.

    Attributes:
        module: makes the module.
        loss: makes the loss, from the module.
        inputs: draws inputs.
        targets: draws targets.
        refused: the reason for which it is refused in every way; empty: it trains.
    """

    module: Callable[[], nn.Module]
    loss: Callable[[nn.Module], Any] = lambda module: F.cross_entropy
    inputs: Draw = lambda n: torch.randn(n, 6)
    targets: Draw = lambda n: torch.randint(3, (n,))
    refused: str = ""

    def made(self) -> tuple[nn.Module, Any, list[tuple[Tensor, Tensor]]]:
        """Module, loss and data, in float64, the same at every call."""
        torch.manual_seed(11)
        data = [(doubled(self.inputs(n)), doubled(self.targets(n))) for n in EXAMPLES]
        module = self.module()
        with torch.no_grad():
            # What has no shapes yet takes those of the data.
            if any(isinstance(p, nn.parameter.UninitializedParameter) for p in module.parameters()):
                module.float()(data[0][0][:2].float() if data[0][0].is_floating_point() else data[0][0][:2])
            module.double()
            for p in module.parameters():
                p.copy_(torch.randn(p.shape) / 2)
        return module, self.loss(module), data


def doubled(tensor: Tensor) -> Tensor:
    """In float64, if it is in numbers that are no whole ones."""
    return tensor.double() if tensor.is_floating_point() else tensor


class Around(nn.Module):
    """Parts, and a function of itself and the inputs."""

    def __init__(self, call: Callable[[Any, Tensor], Tensor], **parts: Any) -> None:
        super().__init__()
        self.call = call
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, inputs: Tensor) -> Tensor:
        """What the function says."""
        return self.call(self, inputs)


def number(*shape: int) -> nn.Parameter:
    """A parameter that is drawn."""
    return nn.Parameter(torch.randn(shape) / 2)


def between(part: nn.Module, out: int = 5) -> Callable[[], nn.Module]:
    """A part between two linear layers."""
    return lambda: nn.Sequential(nn.Linear(6, 5), deepcopy(part), nn.Linear(out, 3))


def headed(*parts: nn.Module) -> Callable[[], nn.Module]:
    """Parts, and a linear layer on all that they give."""
    return lambda: nn.Sequential(*deepcopy(parts), nn.Flatten(), nn.LazyLinear(3))


def lines(n: int) -> Tensor:
    """Two channels of six numbers."""
    return torch.randn(n, 2, 6)


def pictures(n: int) -> Tensor:
    """Two channels of 4 x 4 numbers."""
    return torch.randn(n, 2, 4, 4)


def volumes(n: int) -> Tensor:
    """Two channels of 3 x 3 x 3 numbers."""
    return torch.randn(n, 2, 3, 3, 3)


def tokens(n: int) -> Tensor:
    """Four tokens of seven, 0 among them."""
    return torch.randint(7, (n, 4))


def real(*shape: int) -> Draw:
    """Targets that are numbers."""
    return lambda n: torch.randn(n, *shape)


def signs(n: int) -> Tensor:
    """Targets that are 1 or -1."""
    return torch.randint(2, (n,)) * 2.0 - 1
