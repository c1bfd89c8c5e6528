"""Simulated workers in the threads of one process, with stand-ins for ``torch.distributed`` collectives.

What stands here for ``torch.distributed`` does what its name says, for all workers that run at once. Each call waits
for the others, and a sum is taken in the order of the workers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

import torch
import torch.distributed as dist

T = TypeVar("T")

_HERE = threading.local()

_POOL = ThreadPoolExecutor(4096)
"""Threads that are there are used again, by whatever case is next."""


class Workers:
    """Workers of a collective, numbered from 0."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._meeting = threading.Barrier(count)
        self._brought: list[Any] = [None] * count
        self._posts: dict[tuple[int, int], SimpleQueue[torch.Tensor]] = {
            (a, b): SimpleQueue() for a in range(count) for b in range(count)
        }

    def run(self, work: Callable[[int], T]) -> list[T]:
        """Run a function on all workers at once and return their results; raise the first error."""

        def one(rank: int) -> T:
            _HERE.workers, _HERE.rank = self, rank
            try:
                return work(rank)
            except threading.BrokenBarrierError:
                raise
            except BaseException:
                self._meeting.abort()
                raise

        running = [_POOL.submit(one, rank) for rank in range(self.count)]
        failed = [error for error in (r.exception() for r in running) if error is not None]
        if failed:
            raise next((e for e in failed if not isinstance(e, threading.BrokenBarrierError)), failed[0])
        return [r.result() for r in running]

    def meet(self, rank: int, thing: T) -> list[T]:
        """Exchange a value with all workers, and return the values in the workers' order."""
        self._brought[rank] = thing
        self._meeting.wait()
        brought = list(self._brought)
        self._meeting.wait()
        return brought

    def post(self, source: int, target: int) -> SimpleQueue[torch.Tensor]:
        """Return the queue of messages from one worker to another."""
        return self._posts[source, target]


class Done:
    """Finished communication."""

    def wait(self, *_: Any) -> bool:
        """Return at once."""
        return True

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        """Return a future that is done."""
        future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
        future.set_result([])
        return future


def rank(*_: Any, **__: Any) -> int:
    """Return the rank of the calling worker."""
    return int(_HERE.rank)


def count(*_: Any, **__: Any) -> int:
    """Return the number of workers."""
    return int(_HERE.workers.count)


def gather(thing: T) -> list[T]:
    """Collect a value from every worker, in the workers' order."""
    brought: list[T] = _HERE.workers.meet(_HERE.rank, thing)
    return brought


@torch.no_grad()
def all_reduce(tensor: torch.Tensor, op: Any = dist.ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Done:
    """Replace each worker's tensor by the sum, or the mean, of all workers' tensors."""
    brought = gather(tensor.detach().clone())
    total = sum(brought[1:], start=brought[0])
    if op not in (dist.ReduceOp.SUM, dist.ReduceOp.AVG):
        raise NotImplementedError(f"all_reduce with {op}")
    tensor.copy_(total / count() if op == dist.ReduceOp.AVG else total)
    return Done()


@torch.no_grad()
def broadcast(tensor: torch.Tensor, src: int = 0, group: Any = None, async_op: bool = False) -> Done:
    """Replace each worker's tensor by that of worker ``src``."""
    tensor.copy_(gather(tensor.detach().clone())[src])
    return Done()


@torch.no_grad()
def reduce(tensor: torch.Tensor, dst: int = 0, op: Any = dist.ReduceOp.SUM, group: Any = None) -> Done:
    """Replace the tensor of worker ``dst`` by the sum of all workers' tensors."""
    brought = gather(tensor.detach().clone())
    if rank() == dst:
        tensor.copy_(sum(brought[1:], start=brought[0]))
    return Done()


def send(tensor: torch.Tensor, dst: int = 0, group: Any = None, tag: int = 0) -> None:
    """Send a copy of a tensor to another worker."""
    _HERE.workers.post(_HERE.rank, dst).put(tensor.detach().clone())


@torch.no_grad()
def recv(tensor: torch.Tensor, src: int = 0, group: Any = None, tag: int = 0) -> int:
    """Wait for a tensor from another worker and copy it into ``tensor``."""
    tensor.copy_(_HERE.workers.post(src, _HERE.rank).get())
    return src


def stand_in() -> None:
    """Replace functions of ``torch.distributed`` by the stand-ins of this module, for the whole process."""
    ours: dict[str, Any] = {"get_rank": rank, "get_world_size": count, "is_initialized": lambda: True}
    ours["get_backend"] = lambda group=None: "gloo"
    ours |= {f.__name__: f for f in (all_reduce, broadcast, reduce, send, recv)}
    ours["get_global_rank"] = lambda group=None, group_rank=0: group_rank
    for name, function in ours.items():
        setattr(dist, name, function)
