"""Choice of the gradient method, and of the method for whole runs of SGD, by model size and by timing."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import torch
from torch import Tensor

from fedspec_torch.arith import Stack
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.gradients import heap
from fedspec_torch.gradients.interface import Run
from fedspec_torch.gradients.methods import ALONE, CHANNELS_LAST, METHODS, Method, Network
from fedspec_torch.ways.table import WAYS, methods


@dataclass(frozen=True)
class Choice:
    """Chosen gradient method of a federation, and why.

    Attributes:
        name: name of the gradient method.
        why: description of the timings, and of the methods that failed.
        run: name of the method for whole runs of plain SGD; empty if the run doesn't need one.
    """

    name: str
    why: str
    run: str = ""


IN_PLACE = "in place"
"""Name of the run method that steps all clients by the gradient method; it is always available."""

FEW = 4
"""Largest number of steps of a run that is timed."""

ROUNDING = 1e-3
"""Allowed difference of two run methods in float32, as a share of a client's change: a number at a kink may fall to
either side.
"""

SMALL = 2**18
"""Largest number of parameters for which a CPU core may gain from batching many clients.

Under vmap 10 and 50 clients' steps took 0.63 and 0.90 of the time one after another with 2e5 parameters, 1.1 and 1.0
with 1e6, and down to 0.2 with 1e4 (torch 2.13, one core of an EPYC).
"""

HEAVY, HEAVY_IMAGES = 0.008, 0.002
"""Seconds of one client's step above which batching clients saves a CPU core nothing; the second is for images.

At 1.3 ms a CNN gained 4.5 times from 50 clients at once, at 4.3 ms nothing; a GRU gained 3.5 times at 3 to 5 ms, and a
transformer nothing at 8 ms (the same core).
"""

GAIN = 0.75
"""Batched clients are chosen if they take less than this share of the time of one client after another.

One client after another keeps a model in the cache near the core during whole runs of SGD.
"""

REST = 0.02
"""Seconds to wait before a timing, until the threads of earlier work are idle."""

MEASURED: dict[Hashable, Choice] = {}
"""Choices of this process, by module, loss and block size."""


def choose(network: Network, x: Stack, batch: Minibatch, agrees: Callable[[str], object] = str) -> Choice:
    """Return the fastest gradient method for such a block; methods that fail on the module are left out.

    If the layers have explicit derivatives, no other method is tried, and whole runs of SGD use the compiled loops if
    gradients do. Of the other methods, one client after another is timed on two clients, and all clients at once on the
    block, if its size allows a gain.

    Args:
        network: the module and the loss.
        x: [n, d] the models of the block's clients.
        batch: the minibatches of the block's clients.
        agrees: function that raises an error if a method must not be used, because its gradients are wrong.

    Raises:
        Exception: every method fails on the module; this is the module's own error.
    """
    n, cpu = len(x), x.device.type == "cpu"
    if cpu:
        heap.keep_freed_memory()
    refused: dict[str, Exception] = {}

    def is_taken(name: str) -> bool:
        try:
            with warnings.catch_warnings(action="ignore"):
                agrees(name)
        except Exception as error:
            refused[name] = error
            return False
        return True

    def chosen(name: str, *why: str) -> Choice:
        return Choice(name, "; ".join([*why, *(f"{n} refused ({first_line(error)})" for n, error in refused.items())]))

    tried = {} if network.draws or network.is_large else WAYS
    written = [name for name, way in tried.items() if way.method and is_taken(name)]
    if len(written) == 1:
        return chosen(written[0], "layers are written out")
    kind = kind_of(network, x, batch)
    known = MEASURED.get(kind)
    if known and (known.name in written or is_taken(known.name)):
        return known
    if written:
        works = {name: partial(_tried, methods()[name], network, x, batch) for name in written}
        for work in works.values():
            work()
        seconds = {name: min(_seconds(work, x) for _ in range(2)) for name, work in works.items()}
        found = chosen(min(written, key=lambda name: seconds[name] / WAYS[name].spared), told(n, seconds))
        MEASURED[kind] = replace(found, run=run_of(found))
        return MEASURED[kind]
    some = min(n, 2)
    works = {name: partial(_tried, METHODS[name], network, x[:some], batch.copied(range(some))) for name in ALONE}
    seconds = {
        name: n / some * min(_seconds(works[name], x) for _ in range(2))
        for name in ALONE
        if name in network.ways and is_taken(name)
    }
    alone, left_out = min(seconds.values(), default=inf), list[str]()
    heavy = HEAVY_IMAGES if CHANNELS_LAST in network.ways else HEAVY
    # The backward pass of stacked moves more memory on a core; that of vmapped has more launches on a GPU.
    together = [name for name in ("vmapped", "stacked")[:: 1 if cpu else -1] if name in network.ways]
    if together and seconds and (n == 1 or (cpu and (sum(network.sizes) > SMALL or alone > n * heavy))):
        left_out = [f"{' and '.join(together)} not tried (nothing gained from many clients at once)"]
        together = []
    for name in together:
        if is_taken(name):
            work = partial(_tried, METHODS[name], network, x, batch)
            try:
                with warnings.catch_warnings(action="ignore"):
                    work()
                    # The second call has its memory; what is not far behind has another.
                    seconds[name] = _seconds(work, x)
                    if alone / 2 < seconds[name] < 2 * alone:
                        seconds[name] = min(seconds[name], _seconds(work, x))
                        # A module's first calls are slower than the later ones.
                        again = {way: n / some * _seconds(works[way], x) for way in seconds if way in works}
                        seconds |= {way: min(seconds[way], t) for way, t in again.items()}
                        alone = min(seconds[way] for way in again)
                if seconds[name] > GAIN * alone:
                    # The other one isn't far from it.
                    break
            except Exception as error:
                refused[name] = error
    if not seconds:
        raise [*refused.values()][-1]
    fastest = min(seconds, key=lambda name: seconds[name] / (1 if name in ALONE else GAIN))
    MEASURED[kind] = chosen(fastest, told(n, seconds), *left_out)
    return MEASURED[kind]


def told(n: int, seconds: Mapping[str, float]) -> str:
    """Format the seconds of a step of n clients, the fastest method first."""
    each = sorted(seconds.items(), key=lambda one: one[1])
    return f"a step of {n} clients, measured: {', '.join(f'{name} {1e3 * s:.3g} ms' for name, s in each)}"


def kind_of(network: Network, x: Stack, batch: Minibatch) -> Hashable:
    """Return a key of a block: equal keys mean that every method is equally fast."""
    parts = (re.sub("0x[0-9a-f]+", "", repr(network.module)), *(type(part) for part in network.module.modules()))
    loss = getattr(network.loss, "__code__", type(network.loss))
    block = (len(x).bit_length(), x.dtype, x.device, *(part.shape[1:] for part in batch.leaves))
    return parts, loss, network.precision, (*network.ways,), network.call.words, block, torch.get_num_threads()


def _tried(way: Method, network: Network, x: Stack, batch: Minibatch) -> object:
    """A call that moves nothing."""
    return way(network, x, batch if batch.statistics is None else batch.copied(range(len(x))))


def run_of(choice: Choice) -> str:
    """Return the method for whole runs of plain SGD that belongs to a gradient method."""
    own = choice.name in WAYS and WAYS[choice.name].steps
    return choice.name if own else ALONE.get(choice.name, IN_PLACE)


def choose_run(choice: Choice, x: Stack, tau: Sequence[int], in_place: Run, others: Mapping[str, Run | str]) -> Choice:
    """Choose the method for whole runs of plain SGD: if another one agrees with the steps in place, time both.

    Args:
        choice: the chosen gradient method.
        x: the models from which the clients begin.
        tau: each client's number of local steps; only the first few steps are timed.
        in_place: the run by the gradient method.
        others: the other run by its name, or the reason why there is none; empty if nothing is to be timed.
    """
    found = replace(choice, run=run_of(choice))
    if not others or found.run != IN_PLACE:
        return found
    (name, run), *_ = others.items()
    refused, measured = run if isinstance(run, str) else "", ""
    try:
        if not isinstance(run, str) and not (refused := differs(x, tau, run, in_place)):
            few = [min(t, FEW) for t in tau]
            works = {IN_PLACE: partial(in_place, few), name: partial(run, few)}
            seconds = {way: min(_seconds(work, x) for _ in range(3)) for way, work in works.items()}
            found = replace(found, run=min(seconds, key=seconds.__getitem__))
            told = ", ".join(f"{way} {1e3 * s:.3g} ms" for way, s in seconds.items())
            measured = f"a run of {few[0]} steps: {told}"
    except Exception as error:
        refused = f"{type(error).__name__}: {first_line(error)}"
    words = [choice.why, measured, f"{name} refused ({refused})" if refused else ""]
    return replace(found, why="; ".join(filter(None, words)))


def differs(x: Stack, tau: Sequence[int], run: Run, in_place: Run) -> str:
    """Describe how a run's models differ from the models of the run in place; "" if they agree."""
    few = [min(t, FEW) for t in tau]
    (models, *_), want = in_place(few)
    theirs = models.clone().double()
    (models, *_), losses = run(few)
    # The largest distance of a client's models over its change, or of its losses; roundings of x do not count.
    change = (theirs - x).norm(dim=1) + 1e-3 * x.double().norm(dim=1)
    off = ((losses - want).abs() / (1 + want.abs())).double()
    apart = float(torch.maximum((models.double() - theirs).norm(dim=1) / change, off).max())
    return "" if apart <= ROUNDING else f"its models are {apart:.3g} of their change from those in place"


def _seconds(work: Callable[[], object], x: Stack) -> float:
    _wait(x)
    if x.device.type == "cpu" and torch.get_num_threads() > 1:
        time.sleep(REST)
    begun = _now(x)
    work()
    _wait(x)
    return _now(x) - begun


def _now(x: Stack) -> float:
    """Seconds of this thread if it does all the work, so that other programs don't count."""
    by_itself = x.device.type == "cpu" and torch.get_num_threads() == 1
    return time.thread_time() if by_itself else time.perf_counter()


def _wait(x: Tensor) -> None:
    if x.device.type == "cuda":
        torch.cuda.synchronize(x.device)


def first_line(error: Any) -> str:
    """Return an error's first line, or its type's name, cut to 100 characters."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:100]
