"""Gradients of quadratic objectives for torch parameters of any number of blocks."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def put_gradients(parameters: Sequence[torch.Tensor], H: torch.Tensor, e: torch.Tensor) -> None:
    """Set each parameter's ``.grad`` to its part of H x - e, where x concatenates the parameters.

    Args:
        parameters: the blocks; each gets its part.
        H: [dim, dim], the curvature of the client's objective.
        e: [dim], its linear term.
    """
    gradient = H @ torch.cat([p.detach().reshape(-1) for p in parameters]) - e
    parts = torch.split(gradient, [p.numel() for p in parameters])
    for p, part in zip(parameters, parts, strict=True):
        p.grad = part.reshape(p.shape).clone()
