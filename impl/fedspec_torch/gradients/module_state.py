"""State of a module other than its parameters: running statistics, and seeds of random draws.

A client's step is a function of its model, its minibatch, and a seed: torch's generator is seeded with it before each
call of a module that draws. Running statistics move with every call and change no gradient, which is tried before they
are let in; a vector holds them, as one holds the parameters.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TypeGuard

import torch
from torch import Tensor, nn
from torch.nn.modules import module as modules
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.utils.prune import BasePruningMethod
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

from fedspec_torch.data.batches import mixed

RANDOM = "random numbers"
"""Marker in ``Network.asked``: the module drew random numbers."""

_drawing = threading.RLock()
"""torch's generator is one for all threads."""


def tracks(part: nn.Module) -> TypeGuard[_NormBase]:
    """True if a submodule updates running statistics when it is called."""
    return isinstance(part, _NormBase) and part.track_running_stats and part.training


def hooked(part: nn.Module) -> bool:
    """True if a submodule, or one of its parameters, has a hook, or torch has a global module hook."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    on_all = (vars(modules)[f"_global{kind}"] for kind in kinds)
    on_parameters = (
        getattr(p, kind, None)
        for p in part.parameters(recurse=False)
        for kind in ("_backward_hooks", "_post_accumulate_grad_hooks")
    )
    return any(getattr(part, kind) for kind in kinds) or any(on_all) or any(on_parameters)


def running(module: nn.Module) -> dict[str, Tensor]:
    """Return the buffers that every call updates, by name: those of norms that track running statistics."""
    found: dict[str, Tensor] = {}
    for prefix, part in module.named_modules():
        if tracks(part):
            found |= {f"{prefix}.{name}".lstrip("."): b for name, b in part.named_buffers(recurse=False)}
    return found


def read_buffers(buffers: Mapping[str, Tensor], axes: int = 0) -> Tensor:
    """Return the buffers' values as one vector [b] in float64, which holds counters exactly.

    Args:
        buffers: the buffers by name.
        axes: number of leading axes that all of them have and the result keeps, such as one for [n, b] of n clients.
    """
    parts = [buffer.detach().reshape(*buffer.shape[:axes], -1).double() for buffer in buffers.values()]
    return torch.cat(parts, dim=-1) if parts else torch.zeros(0, dtype=torch.float64)


def split_buffers(like: Mapping[str, Tensor], values: Tensor) -> dict[str, Tensor]:
    """Return values [..., b] as tensors of the buffers' shapes and types; integer buffers (counters) are rounded."""
    parts = zip(like.items(), torch.split(values, [buffer.numel() for buffer in like.values()], -1), strict=True)
    return {
        name: (v if buffer.is_floating_point() else v.round()).reshape(v.shape[:-1] + buffer.shape).to(buffer.dtype)
        for (name, buffer), v in parts
    }


def write_buffers(buffers: Mapping[str, Tensor], values: Tensor) -> None:
    """Set the buffers from one vector."""
    with torch.no_grad():
        for name, value in split_buffers(buffers, values).items():
            buffers[name].copy_(value)


def recompute_hooked(module: nn.Module) -> None:
    """Recompute the weights that torch's hooks derive from parameters before each call: of weight_norm, prune, ...

    Without gradients they are then plain tensors, which torch can copy. Spectral norms must be in evaluation mode.
    """
    for part in module.modules():
        for hook in part._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm | SpectralNorm | BasePruningMethod):
                hook(part, None)


def seed_of(seed: int, round: int, client: int, step: int) -> int:
    """Return torch's seed for a local step of a client: a hash of seed, round, client and step."""
    # An older NumPy shifts no unsigned number by a Python one.
    return int(mixed(seed, round, client, step, 1)) >> 1


def sow(device: torch.device, seed: int) -> None:
    """Seed torch's generators of the CPU and of the device."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


@contextmanager
def restoring(device: torch.device, buffers: Mapping[str, Tensor], *, draws: bool) -> Iterator[None]:
    """Restore the buffers, and torch's generators if the module draws, on exit."""
    kept = {name: buffer.clone() for name, buffer in buffers.items()}
    try:
        devices = [device] if device.type == "cuda" else []
        with _drawing if draws else nullcontext(), torch.random.fork_rng(devices, enabled=draws):
            yield
    finally:
        with torch.no_grad():
            for name, buffer in buffers.items():
                buffer.copy_(kept[name])
