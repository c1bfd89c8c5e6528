"""Processes (ranks) of a run: messages between them, and the error when a rank stops.

All communication consists of messages between two ranks and of small objects that every rank sends to all others. So it
runs on gloo and, with one CUDA device a rank, on NCCL. The default group of ``torch.distributed`` defines the ranks.
Objects should hold no CUDA tensor: another rank would put it on the sender's device.
"""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from traceback import clear_frames
from typing import Any, TypeVar

import torch
import torch.distributed as dist

# Its functions keep the group that there is when it is first imported: so import it before there is one.
import torch.distributed.nn
from torch import Tensor

from fedspec.errors import FedspecError

T = TypeVar("T")

REASON = "fedspec/reason"
"""Key in the process group's store for the reason why the group stopped; the first rank that finds it writes it."""

BACKENDS = "cpu:gloo,cuda:nccl"
"""Backends of a group with CUDA devices; objects go over gloo. By itself torch begins NCCL alone there."""

PATIENCE = 2.0
"""Seconds to find out which rank stopped, after a connection closed."""


class RankError(FedspecError):
    """Error: a process of the group stopped, or the ranks disagree; the message says which rank or what differs."""


@dataclass(frozen=True)
class Ranks:
    """Processes of a run, and this one's number among them.

    Attributes:
        rank: the number of this process.
        members: host and process id of each rank.
    """

    rank: int = 0
    members: tuple[tuple[str, int], ...] = (("", 0),)

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.members)

    def swap(self, send: Mapping[int, Tensor], take: Mapping[int, Tensor]) -> None:
        """Send a tensor to each rank in ``send``, and receive into the tensors of ``take``.

        Raises:
            RankError: another rank has ended.
        """
        # Messages wait for each other by number: lower ranks first on both sides.
        out: list[tuple[Any, Tensor, int]] = [
            (dist.isend, send[q].contiguous(), q) for q in sorted(send) if send[q].numel()
        ]
        out += [(dist.irecv, take[q], q) for q in sorted(take) if take[q].numel()]
        if out:
            self._tried(lambda: [work.wait() for work in dist.batch_isend_irecv([dist.P2POp(*op) for op in out])])

    def told(self, value: T) -> list[T]:
        """Gather a small object from every rank, in their order.

        Raises:
            RankError: another rank has ended.
        """
        if self.size == 1:
            return [value]
        heard: list[Any] = [None] * self.size
        self._tried(lambda: dist.all_gather_object(heard, value))
        return heard

    def said(self, value: T, rank: int = 0) -> T:
        """Broadcast a small object from one rank to all ranks.

        Raises:
            RankError: another rank has ended.
        """
        if self.size == 1:
            return value
        heard: list[Any] = [value]
        self._tried(lambda: dist.broadcast_object_list(heard, src=rank))
        said: T = heard[0]
        return said

    def same(self, tensor: Tensor, rank: int = 0) -> Tensor:
        """Broadcast a rank's tensor over the tensors of the other ranks.

        Raises:
            RankError: another rank has ended.
        """
        if self.size > 1:
            self._tried(lambda: dist.broadcast(tensor, src=rank))
        return tensor

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Context for work that only this rank does: if it fails, the other ranks stop with the reason."""
        try:
            yield
        except Exception as error:
            if self.size > 1:
                self._leave(f"rank {self.rank} has stopped: {type(error).__name__}: {error}")
            raise

    def _tried(self, talk: Callable[[], Any]) -> None:
        try:
            talk()
        except RuntimeError as error:
            clear_frames(error.__traceback__)
            reason = self._leave(self._why() or "a rank does not answer")
            raise RankError(
                f"rank {self.rank}: {reason}; start all ranks again, from the last saved run if there is one"
            ) from error

    def _leave(self, reason: str) -> str:
        """Close this rank's connections, so that no rank waits for it; return any rank's first error."""
        mine = reason
        reason = _answered(lambda store: str(store.compare_set(REASON, "", mine).decode()), mine)
        if dist.is_initialized():
            dist.destroy_process_group()
        # gloo closes its connections when nothing refers to the group any more, neither a traceback nor a cycle.
        gc.collect()
        return reason

    def _why(self) -> str:
        """Name ranks of this host that stopped, unless another rank has found a reason; empty: none."""
        host, until = self.members[self.rank][0], time.monotonic() + PATIENCE
        while time.monotonic() < until:
            gone = [q for q, (there, pid) in enumerate(self.members) if there == host and not running(pid)]
            if gone:
                return " and ".join(f"rank {q} (process {self.members[q][1]} on {host}) is gone" for q in gone)
            if _answered(lambda store: bool(store.check([REASON])), False):
                return "known"
            time.sleep(0.02)
        return ""


def _answered(ask: Callable[[Any], T], otherwise: T) -> T:
    """Ask the store, with a timeout: it may have been on the rank that is gone, or on a lost machine."""
    answers: list[T] = []

    def wait() -> None:
        with suppress(RuntimeError, ValueError):
            answers.append(ask(_store()))

    # Torch waits for a connection that nobody has closed for as long as the system does: a quarter of an hour.
    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(PATIENCE)
    return answers[0] if answers else otherwise


def _store() -> Any:
    return dist.distributed_c10d._get_default_store()


def running(pid: int) -> bool:
    """True if a process of this host still runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        # Not every system says more than that the process is there.
        return True
    return state not in "ZX"


def here() -> Ranks:
    """Return the ranks of ``torch.distributed``'s default group; a single one without a group.

    Raises:
        RankError: another rank has ended.
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return Ranks()
    rank, me = dist.get_rank(), (socket.gethostname(), os.getpid())
    members = Ranks(rank, (me,) * dist.get_world_size()).told(me)
    return Ranks(rank, tuple(members))


def place(environment: Mapping[str, str], devices: int) -> tuple[int | None, str]:
    """Return the CUDA device of a rank that torchrun started, None without one, and the backends of its group.

    Args:
        environment: the process's environment; LOCAL_RANK is its number on this machine.
        devices: number of CUDA devices that this process sees and NCCL can use.
    """
    if not devices:
        return None, "gloo"
    return int(environment.get("LOCAL_RANK", "0")) % devices, BACKENDS


@contextmanager
def joined() -> Iterator[Ranks]:
    """Context with the ranks that ``torchrun`` started, as a group; a single rank if torchrun started none."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or "RANK" not in os.environ or dist.is_initialized():
        yield here()
        return
    device, backends = place(os.environ, torch.cuda.device_count() if dist.is_nccl_available() else 0)
    if device is not None:
        torch.cuda.set_device(device)
    if os.environ.get("LOCAL_WORLD_SIZE") == os.environ["WORLD_SIZE"] and "lo" in dict(socket.if_nameindex()).values():
        # All on this machine: gloo would else ask the machine's name for an address.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group(backends)
    try:
        yield here()
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
