"""Context managers that change a module's training modes and restore them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode (no dropout, norms use running statistics), and restore its modes on exit."""
    with modes_kept(module):
        module.eval()
        yield


@contextmanager
def modes_kept(module: nn.Module) -> Iterator[None]:
    """Restore the mode of each submodule on exit."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        yield
    finally:
        for part, was in modes:
            part.training = was
