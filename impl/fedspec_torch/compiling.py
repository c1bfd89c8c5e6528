"""Compiled loops: the packages that they need, numba's decorator, and threads that share the clients of a block.

If torch has several threads, the clients are divided among the same number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import torch

from fedspec_torch.setup_time import numba

NEEDED = ("numba", "scipy", "threadpoolctl")
"""Packages that the loops need: the compiler, matrix products, and a limit of BLAS to one thread."""

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(function: Loop) -> Loop:
    """Compile a function with numba, once for each type, without the GIL."""
    make: Any = numba().njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
    made: Loop = make(function)
    return made


def is_compiled(x: Any) -> bool:
    """True if compiled loops support the tensor: float32 or float64 on a CPU, with all packages installed."""
    return x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64) and not missing_packages()


@cache
def missing_packages() -> tuple[str, ...]:
    """Return the packages that the loops need and that aren't installed."""
    return tuple(name for name in NEEDED if find_spec(name) is None)


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


def run_parallel(work: Callable[[slice], Any], parts: list[slice], *, wakes: bool = False) -> list[Any]:
    """Run the work on each slice in parallel threads, and return the results in order.

    Args:
        work: the function of a slice of the clients.
        parts: the slices.
        wakes: True if products of the work are so large that BLAS would wake threads of its own.
    """
    if len(parts) == 1:
        # They would wake where torch was told to have one thread.
        limited = wakes and threads() == 1 and _has_threads(os.getpid())
        with _pool(os.getpid(), 1)[1].limit(limits=1) if limited else nullcontext():
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
