"""Per-client state between rounds, one row for each client, updated in place in memory or in a memory-mapped file.

As the text is written, a round copies all rows and replaces its participants' rows in the copy. For 100,000 clients of
650 float32 numbers, 0.26 GB are moved to change a hundred rows. So a run, which is the only user of its state, gives
the text a stack whose ``clone`` is the stack itself. A test compares every algorithm with the text that copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import array_api_compat.torch
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from fedspec.errors import PlanError
from fedspec_torch.local.block_results import each_tensor, tensors
from fedspec_torch.plan import neighbours
from fedspec_torch.ranks.rows import Rows
from fedspec_torch.ranks.sharded import is_copied
from fedspec_torch.ranks.undo import UndoLog

AT_ONCE = 2**22
"""Entries that are copied to a file at a time."""


class InPlaceStack(Tensor):
    """Stack that a step's text updates in place: ``clone`` returns the stack; computed results are ordinary tensors.

    Rows of consecutive clients aren't copied either: the text reads the clients' memory before it overwrites it.

    Attributes:
        before: log of the rows before they are overwritten; None: no log.
    """

    before: UndoLog | None = None

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.clone:
            return args[0]
        if func in (Tensor.__getitem__, Tensor.__setitem__) and isinstance(args[1], list):
            # Neighbours are read where they are, and written several times as fast as rows by their numbers.
            args = (args[0], neighbours(args[1]) or args[1], *args[2:])
        with torch._C.DisableTorchFunctionSubclass():
            if func is Tensor.__setitem__ and args[0].before:
                args[0].before.note(args[0].as_subclass(Tensor), args[1])
            return func(*args, **(kwargs or {}))

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return array_api_compat.torch


class Alike(TorchFunctionMode):
    """Function mode that makes a stack of one vector for every client take the memory of one vector."""

    def __init__(self, clients: int) -> None:
        super().__init__()
        self.clients = clients

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if is_copied(func, args, self.clients):
            return args[0][0].expand(self.clients, -1)
        return func(*args, **(kwargs or {}))


def remembered(state: Any, clients: int, folder: str | Path | None = None) -> Any:
    """Return a state whose per-client rows are updated in place, in memory or in a file.

    Args:
        state: the state of an algorithm with a server; the caller must not use it afterwards.
        clients: number of clients.
        folder: folder of the file that holds the rows; the file has no name, and disappears with the process. None: in
            memory.

    Raises:
        PlanError: the folder doesn't exist or is full, or the rows are on another device than the CPU.
    """
    seen: set[int] = set()

    def of(tensor: Tensor) -> Tensor:
        if isinstance(tensor, Rows):
            parts = {s: _in_file(p, folder) if folder else p for s, p in tensor.parts.items()}
            return Rows(parts, tensor.rows_of, kept=True)
        if tensor.ndim != 2 or len(tensor) != clients:
            return tensor
        if folder:
            own = _in_file(tensor, folder)
        else:
            # Two entries of a state may begin as one stack, and the stack of one client as a vector of the server.
            shared = clients == 1 or tensor.stride(0) == 0 or tensor.data_ptr() in seen
            own = tensor.clone(memory_format=torch.contiguous_format) if shared else tensor
        seen.add(own.data_ptr())
        return own.as_subclass(InPlaceStack)

    return each_tensor(of, state)


def may_be_written(state: Any, clients: int) -> bool:
    """True if a round may write its clients' rows before it is done, since all per-client rows are in place."""
    return all(isinstance(x, InPlaceStack) or x.ndim != 2 or len(x) != clients for x in tensors(state))


def is_written_over(state: Any) -> bool:
    """True if a state has per-client rows that the next round overwrites in place."""
    return any(isinstance(x, InPlaceStack) or (isinstance(x, Rows) and x.kept) for x in tensors(state))


@contextmanager
def undoable(state: Any) -> Iterator[UndoLog]:
    """Context that records the rows that a round overwrites, and yields their undo log."""
    found, before = [x for x in tensors(state) if isinstance(x, InPlaceStack | Rows)], UndoLog()
    for rows in found:
        rows.before = before
    try:
        yield before
    finally:
        for rows in found:
            rows.before = None


def _in_file(stack: Tensor, folder: str | Path) -> Tensor:
    if stack.device.type != "cpu":
        raise PlanError(
            f"client_state: the model is on {stack.device}, but client state in a file needs the CPU; leave "
            "client_state out"
        )
    if not Path(folder).is_dir():
        raise PlanError(f"client_state: the folder {folder} doesn't exist; make it first")
    with NamedTemporaryFile(dir=folder, prefix="fedspec-rows-") as file:
        try:
            mapped = torch.from_file(file.name, shared=True, size=stack.numel(), dtype=stack.dtype).view(stack.shape)
        except RuntimeError as error:
            raise PlanError(
                f"client_state: {folder} has no room for the clients' {stack.nbytes} bytes ({error})"
            ) from error
    size = max(1, AT_ONCE // max(1, stack.shape[1]))
    for start in range(0, len(stack), size):
        rows = stack[start : start + size]
        # A row of zeros takes no room on the disk before it is written.
        if bool(rows.count_nonzero()):
            mapped[start : start + size] = rows
    return mapped
