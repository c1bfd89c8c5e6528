"""Choice of the fastest way to the gradients, and to whole runs of SGD, by measuring."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, inf
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor

from fedspec_torch.arith import Ended, Stack, Weights
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.gradients import heap
from fedspec_torch.gradients.methods import ALONE, WAYS, Network, Way


@dataclass(frozen=True)
class Choice:
    """The way that a federation computes its gradients, and why it was taken.

    Attributes:
        name: of the way.
        why: what was measured, and what was refused.
        run: how it takes whole runs of plain SGD (:mod:`fedspec_torch.federation.sgd_runs`); nothing where nobody
            asked.
    """

    name: str
    why: str
    run: str = ""


Run: TypeAlias = Callable[[Sequence[int]], Ended]
"""From how many steps each client takes, those with most first."""

Found = TypeVar("Found")

IN_PLACE = "in place"
"""Step by step, by the way to the gradients: the run that there always is."""

FEW = 4
"""Steps of a run that is measured."""

ROUNDING = 1e-3
"""The share of a client's change by which two ways to its run may differ in float32: what lies at a kink may fall to
either side."""

SLACK = 0.05
"""Seconds that a machine may have spent on something else while one way had its turn."""


BUDGET = 0.2
"""Seconds after which no way has another turn."""

LONG = 0.02
"""Seconds of a step from which on fewer clients or steps are measured: a core gains nothing from many at once then."""

HEAVY = 0.002
"""Seconds of a step of one client from which on it is its operators' own work that takes them."""

CLOSE = 1.5
"""The ratio of two ways' times from which on nobody doubts which is faster."""

REST = 0.02
"""Seconds in which threads of what was timed before stop looking for work."""


def choose(
    network: Network,
    x: Stack,
    batch: Minibatch,
    names: Sequence[str] = tuple(WAYS),
    repeat: int = 5,
    agrees: Callable[[str], object] = str,
) -> Choice:
    """The fastest way for such a block, by a measurement on it; a way that the module does not bear is left out.

    The ways take turns, so that what else the machine does meets all of them; one that is far behind has no more turns.

    Args:
        network: module and loss.
        x: the models of the block.
        batch: its minibatches.
        names: of the ways.
        repeat: how often they take turns, at most.
        agrees: raises where a way is not to be taken.

    Raises:
        Exception: what the module raised, where no way bears it.
    """
    begun, n, cpu = _now(x), len(x), x.device.type == "cpu"
    if cpu:
        heap.keep_freed_memory()
    seconds: dict[str, float] = {}
    refused: dict[str, Exception] = {}
    works: dict[str, Callable[[], object]] = {}
    left_out: list[str] = []
    # What takes any module shows how long a step is.
    for name in sorted(names, key=lambda name: name != "looped"):
        heavy = cpu and seconds.get("looped", 0) > HEAVY * len(x)
        if name == "vmapped" and heavy and CLOSE * seconds.get("stacked", inf) > seconds["looped"]:
            # Its backward pass does more than that of stacked; the first of a program imports torch's compiler.
            left_out = ["vmapped not tried (nothing gained from many clients at once)"]
            continue
        works[name] = partial(_tried, WAYS[name], network, x, batch)
        try:
            agrees(name)
            if len(x) == n:
                works[name]()
            seconds[name] = _seconds(works[name], x)
        except Exception as error:
            refused[name] = error
        if name == "looped" and cpu and n > 2 and seconds.get(name, 0) > LONG:
            few = min(n, max(2, ceil(n * LONG / seconds[name])))
            seconds[name] *= few / n
            x, batch = x[:few], batch.copied(range(few))
            works[name] = partial(_tried, WAYS[name], network, x, batch)
    if not seconds:
        raise refused[names[-1]]
    parts = _by_turns(works, seconds, x, repeat - 1, begun + BUDGET)
    found = min(seconds, key=seconds.__getitem__)
    parts += [*left_out, *(f"{name} refused ({first_line(error)})" for name, error in refused.items())]
    why = f"a step of {len(x)}{f' of {n}' if len(x) < n else ''} clients, measured: {', '.join(parts)}"
    # Clients who take all their steps one after another do the same work, and lend the module less often.
    return Choice(found, why, "" if network.is_written_out else ALONE.get(found, ""))


def _tried(way: Way, network: Network, x: Stack, batch: Minibatch) -> object:
    """A call that moves nothing."""
    return way(network, x, batch if batch.statistics is None else batch.copied(range(len(x))))


def choose_run(choice: Choice, x: Stack, tau: Sequence[int], runs: Mapping[str, Run | str], repeat: int = 3) -> Choice:
    """Choose the fastest way to whole runs of plain SGD among those that give the models of the run in place.

    Args:
        choice: the way to the gradients.
        x: where the clients begin.
        tau: how many steps each client takes; the first few are measured.
        runs: the ways to a run by name, or why there is none.
        repeat: how often they take turns, at most.
    """
    few = [min(t, FEW // 2) for t in tau]
    refused = {name: run for name, run in runs.items() if isinstance(run, str)}
    taken = {name: run for name, run in runs.items() if not isinstance(run, str)}
    if len(taken) == 1:
        return _found(choice, IN_PLACE, "", refused)
    begun, in_place = _now(x), taken[IN_PLACE]
    ((models, *_), losses), took = _timed(partial(in_place, few), x)
    long = x.device.type == "cpu" and took > LONG
    if not long:
        few = [min(t, FEW) for t in tau]
        in_place(few)
        ((models, *_), losses), took = _timed(partial(in_place, few), x)
    want, seconds = (models.clone(), losses), {IN_PLACE: took}
    for name, run in taken.items():
        if name == IN_PLACE:
            continue
        try:
            ((got, *_), losses), took = _timed(partial(run, few), x)
            apart = _apart(x, (got, losses), want)
            if apart <= ROUNDING:
                seconds[name] = took if long else _seconds(partial(run, few), x)
            else:
                refused[name] = f"its models are {apart:.3g} of their change from those in place"
        except Exception as error:
            refused[name] = f"{type(error).__name__}: {first_line(error)}"
    works = {name: partial(run, few) for name, run in taken.items()}
    parts = _by_turns(works, seconds, x, repeat - 1, begun + BUDGET)
    fastest = min(seconds, key=seconds.__getitem__)
    return _found(choice, fastest, f"a run of {few[0]} steps: {', '.join(parts)}", refused)


def _found(choice: Choice, run: str, measured: str, refused: Mapping[str, str]) -> Choice:
    words = [choice.why, measured, *(f"{name} refused ({why})" for name, why in refused.items())]
    return replace(choice, run=run, why="; ".join(filter(None, words)))


def differs(x: Stack, tau: Sequence[int], run: Run, in_place: Run) -> str:
    """Describe the difference of a run from the run in place; empty if they give the same models."""
    few = [min(t, FEW) for t in tau]
    (models, *_), losses = in_place(few)
    want = models.clone(), losses
    (got, *_), losses = run(few)
    apart = _apart(x, (got, losses), want)
    return "" if apart <= ROUNDING else f"its models are {apart:.3g} of their change from those in place"


def _apart(x: Stack, one: tuple[Stack, Weights], other: tuple[Stack, Weights]) -> float:
    """The largest distance of a client's models over its change, or of its losses; roundings of x do not count."""
    ours, theirs = one[0].double(), other[0].double()
    change = (theirs - x).norm(dim=1) + 1e-3 * x.double().norm(dim=1)
    losses = ((one[1] - other[1]).abs() / (1 + other[1].abs())).double()
    return float(torch.maximum((ours - theirs).norm(dim=1) / change, losses).max())


def _by_turns(
    works: Mapping[str, Callable[[], object]], seconds: dict[str, float], x: Stack, turns: int, until: float
) -> list[str]:
    """Time again what is not far behind, and keep the least; what each took, in words, the fastest first.

    So often, while there is time; up to three times as often while the two fastest are quick and close to each other.
    """
    for turn in range(3 * turns):
        best, second, *_ = (*sorted(seconds.values()), 0, 0)
        if turn >= turns and not best < second < min(CLOSE * best, SLACK):
            break
        for name in [n for n, s in seconds.items() if s < 8 * best + SLACK]:
            if _now(x) < until:
                seconds[name] = min(seconds[name], _seconds(works[name], x))
    return [f"{name} {1e3 * s:.3g} ms" for name, s in sorted(seconds.items(), key=lambda found: found[1])]


def _seconds(work: Callable[[], object], x: Stack) -> float:
    return _timed(work, x)[1]


def _timed(work: Callable[[], Found], x: Stack) -> tuple[Found, float]:
    _wait(x)
    if x.device.type == "cpu" and torch.get_num_threads() > 1:
        time.sleep(REST)
    begun = _now(x)
    found = work()
    _wait(x)
    return found, _now(x) - begun


def _now(x: Stack) -> float:
    """Seconds of this thread's own where it does all the work: what else the machine does then counts nothing."""
    by_itself = x.device.type == "cpu" and torch.get_num_threads() == 1
    return time.thread_time() if by_itself else time.perf_counter()


def _wait(x: Tensor) -> None:
    if x.device.type == "cuda":
        torch.cuda.synchronize(x.device)


def first_line(error: Any) -> str:
    """First line of an error."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:100]
