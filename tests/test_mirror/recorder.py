"""What a CUDA graph is, on a CPU: operations with the numbers and the addresses that they had when they were recorded.

Nothing of Python runs again when it is replayed. A number that an operation was given stays as it was, memory is read
and written where it lay, and who wants to know a number in between is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Recorder(TorchDispatchMode):
    """Notes every operation, which also runs."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[tuple[Any, Any, Any, list[Tensor]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and note where its results lie."""
        if func is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("operation not permitted when stream is capturing")
        given = kwargs or {}
        made = func(*args, **given)
        self.noted.append((func, args, given, [part for part in tree_leaves(made) if isinstance(part, Tensor)]))
        return made

    def replay(self) -> None:
        """Run them again; what comes to lie elsewhere is brought to where it lay."""
        for func, args, kwargs, results in self.noted:
            again = [part for part in tree_leaves(func(*args, **kwargs)) if isinstance(part, Tensor)]
            for old, new in zip(results, again, strict=True):
                if new.data_ptr() != old.data_ptr():
                    old.copy_(new)


def recorded(work: Callable[[], Any], device: torch.device) -> tuple[Any, Callable[[], object]]:
    """In place of :func:`fedspec_torch.gradients.graphs.recorded`."""
    recorder = Recorder()
    with recorder:
        made = work()
    # A graph computes nothing while it is recorded.
    for part in tree_leaves(made):
        if isinstance(part, Tensor):
            part.fill_(float("nan"))
    return made, recorder.replay
