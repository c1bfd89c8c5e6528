"""Small models for a given number of features and classes, and their initial weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from fedspec.errors import UnknownNameError


def _logistic(features: int, classes: int) -> nn.Module:
    return nn.Linear(features, classes)


def _mlp(features: int, classes: int) -> nn.Module:
    return nn.Sequential(nn.Linear(features, 128), nn.ReLU(), nn.Linear(128, classes))


def _matrices(features: int, classes: int) -> nn.Module:
    return nn.Sequential(nn.Linear(features, 128, bias=False), nn.ReLU(), nn.Linear(128, classes, bias=False))


def _cnn(features: int, classes: int) -> nn.Module:
    side = round(features**0.5)
    if side * side != features:
        raise UnknownNameError(f"model: cnn needs square images, but an example has {features} features; take mlp")
    return nn.Sequential(
        nn.Unflatten(1, (1, side, side)),
        nn.Conv2d(1, 16, 3, padding=1),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * ((side + 1) // 2) ** 2, classes),
    )


MODELS: dict[str, Callable[[int, int], nn.Module]] = {
    "logistic": _logistic,
    "mlp": _mlp,
    "cnn": _cnn,
    "matrices": _matrices,
}
"""Models by name; ``matrices`` is ``mlp`` without biases, for algorithms that support only matrices."""


def initialised(module: nn.Module, seed: int) -> nn.Module:
    """Initialise in place: weights uniform in +-1/sqrt(fan in), zero biases, normal embeddings; scales stay one.

    The draws come from a generator, not from torch's global state.
    """
    generator = torch.Generator().manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv2d):
            bound = part.weight[0].numel() ** -0.5
            nn.init.uniform_(part.weight, -bound, bound, generator=generator)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, generator=generator)
    return module
