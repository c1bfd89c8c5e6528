"""Which way to the gradients is taken: the one that is measured to be fastest."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedspec_torch.arith import Stack
from fedspec_torch.data import Minibatch
from fedspec_torch.gradients import WAYS, Network, Way


@dataclass(frozen=True)
class Choice:
    """The way that a federation computes its gradients, and why it was taken."""

    name: str
    why: str


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


def _timed(way: Way, network: Network, x: Stack, batch: Minibatch) -> float:
    _wait(x)
    begun = time.perf_counter()
    way(network, x, batch)
    _wait(x)
    return time.perf_counter() - begun


def _wait(x: Tensor) -> None:
    if x.device.type == "cuda":
        torch.cuda.synchronize(x.device)


def first_line(error: Any) -> str:
    """What an error says first."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:100]
