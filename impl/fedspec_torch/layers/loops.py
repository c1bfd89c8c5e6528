"""Chains of layers in compiled loops (:mod:`fedspec_torch.layers.compiled`), if numba and SciPy are installed.

The loops support linear layers with at most one activation each, in a CPU's memory; :func:`refusal` names anything
else. If torch has several threads, the clients are divided among the same number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np
import torch

from fedspec.arith import Array
from fedspec.errors import to_install
from fedspec_torch.arith import Stack, Weights
from fedspec_torch.data.batches import Walk
from fedspec_torch.layers.chains import Chain, Loss, cross_entropy

NEEDED = ("numba", "scipy", "threadpoolctl")
"""Packages that the loops need: the compiler, matrix products, and a limit of BLAS to one thread."""

ROOM = 2**14
"""Entries of the buffer for products: few enough to stay in the first-level cache."""

WAKING = 2**12
"""Number of a model's entries above which BLAS may use several threads for a product."""

CODES: dict[tuple[str, ...], int] = {(): 0, ("relu",): 1, ("tanh",): 2}
"""Codes of a layer's activations in the table of layers."""

Memory: TypeAlias = tuple[Array, ...]
"""Buffers of one thread; see the compiled function."""


class NoClassError(IndexError):
    """Error: a target of the client in ``row`` isn't a class of the model."""

    def __init__(self, row: int, classes: int) -> None:
        super().__init__(f"a class is not in 0 to {classes - 1}")
        self.row, self.classes = row, classes


def refusal(chain: Chain, loss: Loss, x: Stack, walk: Walk) -> str:
    """Return why the loops can't run such a block; "" if they can."""
    missing = missing_packages()
    features, outputs = chain.stages[0].linear.inputs, chain.stages[-1].linear.outputs
    inputs, targets = walk.leaves[0].flatten(1), walk.leaves[-1]
    if missing:
        return f"{', '.join(missing)} not installed: {to_install('fast', 'fedspec-torch')}"
    if x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64):
        return f"models in {x.dtype} on {x.device.type}, not in float32 or float64 on a CPU"
    if chain.before or any(stage.activations not in CODES for stage in chain.stages):
        return "an activation before the first layer, or two after one"
    if inputs.dtype != x.dtype or inputs.shape[1] != features:
        return f"{inputs.shape[1]} features in {inputs.dtype}, not {features} in {x.dtype}"
    if loss is cross_entropy:
        are_classes = targets.ndim == 1 and targets.dtype == torch.int64
        return "" if are_classes else "targets that are no class numbers in int64"
    if targets.dtype != x.dtype:
        return f"targets in {targets.dtype}, not {x.dtype}"
    return "" if targets.shape[1:] == (outputs,) else "a mean square without a target for each output"


def is_compiled(x: Any) -> bool:
    """True if compiled loops support the tensor: float32 or float64 on a CPU, with all packages installed."""
    return x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64) and not missing_packages()


@cache
def missing_packages() -> tuple[str, ...]:
    """Return the packages that the loops need and that aren't installed."""
    return tuple(name for name in NEEDED if find_spec(name) is None)


@dataclass(frozen=True, eq=False)
class Loops:
    """Compiled loops for one chain and minibatches of at most b examples.

    Attributes:
        classes: True if the loss is the cross-entropy; False if it is the mean squared error.
        table: the table of the chain's layers.
        memory: function that allocates the work space of one thread.
    """

    classes: bool
    table: Array
    memory: Callable[[], Memory]
    _memories: list[Memory] = field(default_factory=list)

    @classmethod
    def of(cls, chain: Chain, loss: Loss, x: Stack, b: int) -> Loops:
        """Build the loops for a chain, a loss and models like x."""
        layers = [stage.linear for stage in chain.stages]
        *places, end = accumulate((l.outputs * b for l in layers), initial=0)
        sizes = (2 * end, b * layers[0].inputs, max(ROOM, 2 * b, *(l.inputs for l in layers)))
        table = [
            (l.weight.start, l.bias.start if l.bias else -1, l.inputs, l.outputs, CODES[stage.activations], z, end + z)
            for l, stage, z in zip(layers, chain.stages, places, strict=True)
        ]

        def memory() -> Memory:
            return (*(x.new_empty(size).numpy() for size in sizes), np.empty(b, np.int64))

        return cls(loss is cross_entropy, np.array(table), memory)

    def steps(
        self,
        x: Stack,
        walk: Walk,
        first: int,
        tau: Sequence[int],
        to: Stack,
        scales: Sequence[float],
        *,
        adds: bool,
        told: bool = True,
        begun: Stack | None = None,
    ) -> Weights:
        """Write multiples of the gradients of minibatches to a stack, or add them; see the compiled function.

        Args:
            x: [n, d] the models.
            walk: the minibatches of these clients, or of a longer list of clients that begins with them.
            first: number of the local step of the first minibatch.
            tau: the number of minibatches of each client.
            to: [n, d] the array to which the gradients are written; may be x.
            scales: the factor of each step's gradients.
            adds: True if the gradients are added to the contents of ``to``.
            told: True if losses are computed.
            begun: [n, d] initial values that the thread of each client writes to the models first.

        Returns:
            The losses [n] of the first minibatches, or none.

        Raises:
            NoClassError: a target isn't a class number.
        """
        steps = import_module("fedspec_torch.layers.compiled").steps
        losses, none = x.new_empty(len(x) if told else 0), x.new_empty(0, 0)
        classes = walk.leaves[-1] if self.classes else none[:, :0].long().flatten()
        targets = none if self.classes else walk.leaves[-1]
        pool = [part.contiguous().numpy() for part in (walk.leaves[0].flatten(1), classes, targets)]
        order = np.empty((0, 0), np.int32) if walk.order is None else walk.order.numpy()
        X, T, Y, L = x.contiguous().numpy(), np.array(tau), to.numpy(), losses.numpy()
        # Of models that are seen several times one is enough.
        common = begun is not None and begun.stride(0) == 0
        B = (none if begun is None else begun[:1] if common else begun).contiguous().numpy()
        rates, table = np.array(scales, X.dtype), walk.table

        def some(own: slice) -> int:
            memory = self._memories.pop() if self._memories else self.memory()
            rows = (table[own], order[own], first, T[own], Y[own], rates, adds, L[own])
            found = int(steps(self.table, X[own], B if common else B[own], *pool, *rows, *memory))
            self._memories.append(memory)
            return found

        parts = shares(tau)
        # BLAS has threads of its own; large products would wake them where torch was told to have one.
        limited = threads() == 1 and x.shape[1] > WAKING and _has_threads(os.getpid())
        with _pool(os.getpid(), 1)[1].limit(limits=1) if limited else nullcontext():
            found = run_parallel(some, parts)
        for part, wrong in zip(parts, found, strict=True):
            if wrong >= 0:
                raise NoClassError(part.start + wrong, int(self.table[-1, 3]))
        return losses


_lent: ContextVar[int] = ContextVar("lent", default=0)


def threads() -> int:
    """Return the number of threads of the loops: torch's number, also while ``lent`` sets torch's to one."""
    return _lent.get() or torch.get_num_threads()


@contextmanager
def lent() -> Iterator[None]:
    """Limit torch and BLAS to one thread inside this context, and let the loops use torch's threads.

    Otherwise torch's and BLAS's threads search for work for milliseconds after each operation, on the cores that the
    loops need: a round of the MLP in two threads took 24 ms on two cores of an EPYC, and 13 ms with this limit.
    """
    found = torch.get_num_threads()
    if found == 1 or missing_packages():
        yield
        return
    _, products = _pool(os.getpid(), found)
    token = _lent.set(found)
    torch.set_num_threads(1)
    try:
        with products.limit(limits=1):
            yield
    finally:
        torch.set_num_threads(found)
        _lent.reset(token)


def shares(tau: Sequence[int]) -> list[slice]:
    """Cut the clients into consecutive slices, one for each thread, with about equal numbers of steps."""
    parts = min(len(tau), threads())
    if parts == 1:
        return [slice(0, len(tau))]
    done = np.cumsum(tau)
    ends = np.searchsorted(done, done[-1] * np.arange(1, parts) / parts, side="right")
    return [slice(*ends) for ends in pairwise((0, *map(int, ends), len(tau)))]


def run_parallel(work: Callable[[slice], Any], parts: list[slice]) -> list[Any]:
    """Run the work on each slice in parallel threads, and return the results in order."""
    if len(parts) == 1:
        return [work(parts[0])]
    workers, products = _pool(os.getpid(), threads())
    # Products would share one more pool of threads, and wait for each other.
    with products.limit(limits=1):
        # This thread takes a part itself: to wake another one takes as long as a small part.
        others = [workers.submit(work, part) for part in parts[1:]]
        return [work(parts[0]), *(other.result() for other in others)]


@cache
def _pool(process: int, threads: int) -> tuple[ThreadPoolExecutor, Any]:
    # A child that is forked has none of its parent's threads.
    # Only libraries that are loaded by now are limited, and the loops would load theirs later.
    import_module("scipy.linalg.cython_blas")
    controller: Any = import_module("threadpoolctl").ThreadpoolController()
    return ThreadPoolExecutor(threads), controller.select(user_api="blas")


@cache
def _has_threads(process: int) -> bool:
    """True if BLAS has several threads; that is asked once, since it takes longer than a small block's step."""
    return any(library.num_threads > 1 for library in _pool(process, 1)[1].lib_controllers)
