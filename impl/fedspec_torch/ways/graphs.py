"""Local runs that are recorded once and replayed: as CUDA graphs on a GPU, one launch for all steps of a block.

A recording holds what a run was made of: the numbers that Python gave it (rates, decays, how many clients take step k)
and the addresses that it read. So it is replayed only where all of them are the same again. :func:`run_key` finds them
in a solver's own functions, and what it does not know it does not record. Where the models begin and which examples
make the minibatches is copied to where the recording reads it.

The first run of a kind is taken step by step, the second is recorded, those after are replayed: one that does not come
again is looked for and no more. A run that must look at its own numbers, as where steps that are too short are not
taken, cannot be recorded: the second one shows it, and all others go on step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fedspec_torch.arith import Ended, Stack
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.gradients.interface import Job
from fedspec_torch.gradients.methods import Network
from fedspec_torch.tracing.closures import UnknownPartError, key_of

Body: TypeAlias = Callable[[Stack, Tensor], Ended]
"""Run of a block as a function of the initial models and the rows of its minibatches, and of nothing else."""

Record: TypeAlias = Callable[[Callable[[], Ended], torch.device], tuple[Ended, Callable[[], object]]]
"""Function that records work on a device, and returns the buffers of its results and a function that replays it."""

ASKS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
"""Tags of operations whose result, or its shape, Python needs before it can go on."""

KEPT = 8
"""Largest number of stored keys, recorded or seen once; each recording holds its own memory."""


def recorded(work: Callable[[], Ended], device: torch.device) -> tuple[Ended, Callable[[], object]]:
    """Record work as a CUDA graph, without computing anything, and return its results' buffers and its replay."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(device), torch.cuda.graph(graph):
        made = work()
    return made, graph.replay


RECORDS: dict[str, Record] = {"cuda": recorded}
"""Recorder by device type; a test adds one for the CPU, which, like a CUDA graph, fixes numbers and addresses."""


class Watched(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Dispatch mode that finds operations that can't be recorded, since a failed recording breaks torch's allocator.

    Attributes:
        reason: reason why the operations can't be recorded; empty if they can.
    """

    reason: str = ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and note the reason if it can't be recorded."""
        made = func(*args, **(kwargs or {}))
        devices = {part.device for part in tree_leaves((args, kwargs, made)) if isinstance(part, Tensor)}
        if ASKS & {*func.tags}:
            self.reason = f"{func}: what it gives must be known before the run goes on"
        elif len(devices) > 1:
            self.reason = f"{func}: tensors on {' and '.join(sorted(map(str, devices)))}"
        return made


@dataclass(frozen=True, eq=False)
class Recording:
    """Recorded run, with the buffers that it reads and writes.

    Attributes:
        x: the buffer from which the recording reads the clients' initial models.
        which: the buffer from which the recording reads the indices of the minibatches' examples.
        ended: the buffer to which the recording writes its results.
        again: function that replays the recording.
        held: other tensors that the recording reads and writes, whose memory must not be freed.
    """

    x: Stack
    which: Tensor
    ended: Ended
    again: Callable[[], object]
    held: object


def recording(x: Stack, which: Tensor, body: Body, held: object) -> Recording | str:
    """Record a run that reads its initial models from x and its minibatches' rows from which, or return why not."""
    with Watched() as watched:  # type: ignore[no-untyped-call]
        body(x, which)
    if watched.reason:
        return str(watched.reason)
    try:
        ended, again = RECORDS[x.device.type](lambda: body(x, which), x.device)
    except RuntimeError as error:
        return str(error)
    return Recording(x, which, ended, again, held)


def recordings(network: Network, x: Stack) -> dict[Hashable, Recording | str | None]:
    """Return this thread's recorded runs of such models, the latest last.

    None is a run that was seen once, a text one that can't be recorded.
    """
    found: dict[Hashable, Recording | str | None] = network.kept("recordings", dict, x[:1])
    return found


def replayed(
    job: Job,
    tau: Sequence[int],
    b: int,
    steps: Callable[[Stack, Callable[[int, int], Minibatch]], Ended],
    held: object,
) -> Ended | None:
    """Replay a job in one launch, and return its results (valid until the next replay); None: take it step by step.

    Args:
        job: the job; if a way is named, nothing is recorded.
        tau: each client's number of local steps, in descending order.
        b: the size of all minibatches.
        steps: function of the initial models and the minibatches that does the job, which is recorded.
        held: the tensors in which it computes.
    """
    x, walk, common = job.x, job.batches.walk, job.x.stride(0) == 0
    if job.way or x.device.type not in RECORDS:
        return None
    try:
        key = (run_key((job.solver, tuple(tau), b, *walk.leaves, x.dtype)), common)
    except UnknownPartError:
        return None

    def body(x: Stack, which: Tensor) -> Ended:
        def batch(k: int, n: int) -> Minibatch:
            at = which[k, :n].flatten()
            return Minibatch(tuple(part.index_select(0, at).view(n, b, *part.shape[1:]) for part in walk.leaves))

        return steps(x, batch)

    known = recordings(job.network, x)
    seen = key in known
    found = known.pop(key, None)
    if seen and found is None:
        found = recording(x[:1].clone().expand(x.shape) if common else x.clone(), walk.rows(tau[0]), body, held)
    known[key] = found
    while len(known) > KEPT:
        del known[next(iter(known))]
    if not isinstance(found, Recording):
        return None
    found.x[: 1 if common else len(x)].copy_(x[:1] if common else x)
    found.which.copy_(walk.rows(tau[0]))
    found.again()
    models, losses = found.ended
    # The clients' losses are kept longer than their models.
    return models, losses.clone()


def run_key(part: Any) -> Hashable:
    """Return a run's key: numbers by value, tensors by address, functions by their closures.

    Raises:
        UnknownPartError: the run has a part that is no number, tensor or function.
    """
    return key_of(part, _place)


def _place(x: Tensor) -> Hashable:
    return (x.data_ptr(), tuple(x.shape), x.stride(), x.dtype, str(x.device))
