"""A module in its evaluation mode for a while, and afterwards in the modes that it had."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """In evaluation mode: nothing is dropped, and norms use their running statistics; afterwards as it was."""
    with modes_kept(module):
        module.eval()
        yield


@contextmanager
def modes_kept(module: nn.Module) -> Iterator[None]:
    """Afterwards each part of a module is in the mode in which it was."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        yield
    finally:
        for part, was in modes:
            part.training = was
