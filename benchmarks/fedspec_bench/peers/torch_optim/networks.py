"""Modules of all workloads in plain torch, initialised from one vector.

Peers import this in environments of their own, where torch and NumPy are all that they need.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedspec_bench.networks import LONG, RANK, WIDE, WORDS, Network
from fedspec_bench.workloads import Array, Workload


def convolutions(*, normed: bool = False) -> nn.Module:
    """Return the CNN: two 5 x 5 convolutions of 16 and 32 channels on 28 x 28 pixels."""

    def stage(before: int, after: int) -> list[nn.Module]:
        norm = [nn.BatchNorm2d(after)] if normed else []
        return [nn.Conv2d(before, after, 5, padding=2), *norm, nn.ReLU(), nn.MaxPool2d(2)]

    return nn.Sequential(*stage(1, 16), *stage(16, 32), nn.Flatten(), nn.Linear(32 * 49, 10))


class Lstm(nn.Module):
    """Next-word LSTM with two layers of 64 cells."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 8)
        self.cells = nn.LSTM(8, WIDE, 2, batch_first=True)
        self.out = nn.Linear(WIDE, WORDS)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of the next word."""
        out: Tensor = self.out(self.cells(self.words(x))[0][:, -1])
        return out


class Adapted(nn.Module):
    """Frozen linear layer plus a trained low-rank product (LoRA)."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, RANK, bias=False)
        self.up = nn.Linear(RANK, base.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output plus the adapter's output."""
        out: Tensor = self.base(x) + self.up(self.down(x))
        return out


class Block(nn.Module):
    """Transformer block: attention with four heads and a layer of 128."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDE), nn.LayerNorm(WIDE)
        self.mixes, self.out = nn.Linear(WIDE, 3 * WIDE), nn.Linear(WIDE, WIDE)
        self.inner, self.outer = nn.Linear(WIDE, 2 * WIDE), nn.Linear(2 * WIDE, WIDE)

    def forward(self, x: Tensor) -> Tensor:
        """Return the next representation."""
        n, long, wide = x.shape
        q, k, v = self.mixes(self.before(x)).view(n, long, 3, 4, wide // 4).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, long, wide)
        x = x + self.out(seen)
        out: Tensor = x + self.outer(F.gelu(self.inner(self.after(x))))
        return out


class Transformer(nn.Module):
    """Next-word transformer with two blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDE), nn.Parameter(torch.zeros(LONG, WIDE))
        self.blocks, self.out = nn.Sequential(Block(), Block()), nn.Linear(WIDE, WORDS)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of the next word."""
        out: Tensor = self.out(self.blocks(self.words(x) + self.places)[:, -1])
        return out


def adapt(module: Transformer) -> Transformer:
    """Freeze a transformer, and add LoRA adapters to its blocks' linear layers."""
    module.requires_grad_(False)
    for block in module.blocks:
        for name, part in [*block.named_children()]:
            if isinstance(part, nn.Linear):
                setattr(block, name, Adapted(part))
    return module


MODULES: dict[str, Callable[[], nn.Module]] = {
    "cnn": convolutions,
    "cnn-bn": partial(convolutions, normed=True),
    "lstm": Lstm,
    "transformer": Transformer,
    "lora": Transformer,
}


def module(work: Workload) -> nn.Module:
    """Return a workload's model with its initial parameters."""
    if isinstance(work, Network):
        return network(work)
    parts: list[nn.Module] = []
    for inputs, outputs in work.layers:
        parts += [nn.Linear(inputs, outputs), nn.ReLU()]
    model = nn.Sequential(*parts[:-1])
    # The parameters become views of the vector, so each module needs one of its own.
    nn.utils.vector_to_parameters(torch.from_numpy(work.start).clone(), model.parameters())
    return model


def network(work: Network, dtype: torch.dtype = torch.float32) -> nn.Module:
    """Return the module of a real workload with its initial parameters."""
    module = MODULES[work.name]().to(dtype)
    if isinstance(module, Transformer) and len(work.frozen):
        nn.utils.vector_to_parameters(torch.from_numpy(work.frozen).to(dtype), module.parameters())
        module = adapt(module).to(dtype)
    put(module, torch.from_numpy(work.start).to(dtype))
    return module


def trained(module: nn.Module) -> list[nn.Parameter]:
    """Return the parameters that are trained."""
    return [p for p in module.parameters() if p.requires_grad]


@torch.no_grad()
def put(module: nn.Module, x: Tensor) -> None:
    """Copy a vector's values to a module's trained parameters."""
    for p, value in zip(trained(module), x.split([p.numel() for p in trained(module)]), strict=True):
        p.copy_(value.view_as(p))


def tensors(inputs: Array, targets: Array) -> tuple[Tensor, Tensor]:
    """Convert examples to tensors, floating-point inputs in float64."""
    x = torch.from_numpy(inputs)
    return x.double() if x.is_floating_point() else x, torch.from_numpy(targets)


@lru_cache(maxsize=1)
def _doubled(work: Network) -> nn.Module:
    """The module that the reference computes with, used again for each of its gradients."""
    return network(work, torch.float64)


def loss(work: Network, x: Array) -> float:
    """Compute :meth:`Network.loss`; BatchNorm uses each batch's statistics, as in training."""
    module, total = _doubled(work), 0.0
    put(module, torch.from_numpy(x).double())
    with torch.no_grad():
        for some, classes in zip(*work.data, strict=True):
            inputs, targets = tensors(some, classes)
            total += float(F.cross_entropy(module(inputs), targets))
    return total / work.clients


def gradient(work: Network, x: Array, inputs: Array, targets: Array) -> Array:
    """Compute :meth:`Network.gradient`."""
    module = _doubled(work)
    put(module, torch.from_numpy(x).double())
    some, classes = tensors(inputs, targets)
    found = torch.autograd.grad(F.cross_entropy(module(some), classes), trained(module))
    told: Array = torch.cat([g.reshape(-1) for g in found]).numpy().astype(x.dtype)
    return told
