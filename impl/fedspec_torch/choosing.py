"""Which way to the gradients is taken, and which to whole runs of SGD: the one that is measured to be fastest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch
from torch import Tensor

from fedspec_torch.arith import Stack, Weights
from fedspec_torch.data import Minibatch
from fedspec_torch.gradients import WAYS, Network, Way


@dataclass(frozen=True)
class Choice:
    """The way that a federation computes its gradients, and why it was taken.

    Attributes:
        name: of the way.
        why: what was measured, and what was refused.
        run: how it takes whole runs of plain SGD on a GPU, ``fused`` or ``in place``; nothing where nobody asked.
    """

    name: str
    why: str
    run: str = ""


Run: TypeAlias = Callable[[], tuple[tuple[Stack, ...], Weights]]
"""All local steps of a block: the models first, and the losses where they begin."""

ROUNDING = 1e-3
"""The share of a client's change by which two ways to its run may differ in float32: what lies at a kink may fall to
either side."""

SLACK = 0.05
"""Seconds that a machine may have spent on something else while one way had its turn."""


def choose(network: Network, x: Stack, batch: Minibatch, names: Sequence[str] = tuple(WAYS), repeat: int = 5) -> Choice:
    """The fastest way for such a block, by a measurement on it; a way that the module does not bear is left out.

    The ways take turns, so that what else the machine does meets all of them; one that is far behind has no more turns.

    Raises:
        Exception: what the module raised, where no way bears it.
    """
    seconds: dict[str, float] = {}
    refused: dict[str, Exception] = {}
    for name in names:
        try:
            WAYS[name](network, x, batch)
            seconds[name] = _timed(WAYS[name], network, x, batch)
        except Exception as error:
            refused[name] = error
    if not seconds:
        raise refused[names[-1]]
    for _ in range(repeat - 1):
        best = min(seconds.values())
        for name in [n for n, s in seconds.items() if s < 8 * best + SLACK]:
            seconds[name] = min(seconds[name], _timed(WAYS[name], network, x, batch))
    found = min(seconds, key=seconds.__getitem__)
    parts = [f"{name} {1e3 * s:.3g} ms" for name, s in sorted(seconds.items(), key=lambda found: found[1])]
    parts += [f"{name} refused ({first_line(error)})" for name, error in refused.items()]
    return Choice(found, f"a step of {len(x)} clients, measured: {', '.join(parts)}")


def choose_run(choice: Choice, x: Stack, steps: int, fused: Run | str, in_place: Run, repeat: int = 3) -> Choice:
    """How whole runs of plain SGD are taken: by the kernel where it is faster and comes to the models of the other.

    Args:
        choice: the way to the gradients.
        x: where the clients begin.
        steps: the most that one takes.
        fused: the kernel's run of this block, or why there is none.
        in_place: the same run, operation by operation.
        repeat: how often they take turns.
    """

    def told(run: str, words: str) -> Choice:
        return replace(choice, run=run, why=f"{choice.why}; {words}")

    if isinstance(fused, str):
        return told("in place", f"fused refused ({fused})")
    try:
        apart = _apart(x, fused(), in_place())
    except Exception as error:
        return told("in place", f"fused refused ({type(error).__name__}: {first_line(error)})")
    if not apart <= ROUNDING:
        return told("in place", f"fused refused (its models are {apart:.3g} of their change from those in place)")
    seconds = {"fused": float("inf"), "in place": float("inf")}
    for _ in range(repeat):
        for name, run in (("fused", fused), ("in place", in_place)):
            seconds[name] = min(seconds[name], _seconds(run, x))
    parts = ", ".join(f"{name} {1e3 * s:.3g} ms" for name, s in sorted(seconds.items(), key=lambda found: found[1]))
    return told(min(seconds, key=seconds.__getitem__), f"a run of {steps} steps: {parts}")


def _apart(x: Stack, one: tuple[tuple[Stack, ...], Weights], other: tuple[tuple[Stack, ...], Weights]) -> float:
    """The largest distance of a client's models over its change, or of its losses; roundings of x do not count."""
    ours, theirs = one[0][0].double(), other[0][0].double()
    change = (theirs - x).norm(dim=1) + 1e-3 * x.double().norm(dim=1)
    losses = ((one[1] - other[1]).abs() / (1 + other[1].abs())).double()
    return float(torch.maximum((ours - theirs).norm(dim=1) / change, losses).max())


def _timed(way: Way, network: Network, x: Stack, batch: Minibatch) -> float:
    return _seconds(lambda: way(network, x, batch), x)


def _seconds(work: Callable[[], object], x: Stack) -> float:
    _wait(x)
    begun = time.perf_counter()
    work()
    _wait(x)
    return time.perf_counter() - begun


def _wait(x: Tensor) -> None:
    if x.device.type == "cuda":
        torch.cuda.synchronize(x.device)


def first_line(error: Any) -> str:
    """What an error says first."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:100]
