"""Time of a step: the catalogue's rules as torch optimisers compared with torch's own, in turns, at d = 10^6."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import nn

from fedspec_use.torch import Local

ADAM = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
PAIRS: dict[str, tuple[dict[str, Any], Callable[[Any], torch.optim.Optimizer]]] = {
    "sgd": ({}, lambda p: torch.optim.SGD(p, lr=0.01, foreach=True)),
    "momentum": ({"rho": 0.9}, lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, foreach=True)),
    "nesterov": ({"rho": 0.9}, lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True, foreach=True)),
    "adagrad": ({"eps": 1e-10}, lambda p: torch.optim.Adagrad(p, lr=0.01, foreach=True)),
    "adam": (ADAM, lambda p: torch.optim.Adam(p, lr=0.01, foreach=True)),
}


def seconds(optimizers: list[torch.optim.Optimizer], turns: int = 200) -> list[float]:
    """Return the median seconds of a step of each optimiser, measured in turns."""
    taken: list[list[float]] = [[] for _ in optimizers]
    for turn in range(turns + 10):
        for own, optimizer in zip(taken, optimizers, strict=True):
            begun = perf_counter()
            optimizer.step()
            if turn >= 10:
                own.append(perf_counter() - begun)
    return [median(own) for own in taken]


def main(d: int = 10**6) -> None:
    """Print the times of each pair."""
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, d = {d}; milliseconds of a step")
    for name, (numbers, theirs) in PAIRS.items():
        drawn = torch.Generator().manual_seed(0)
        params = [nn.Parameter(torch.randn(d, generator=drawn)) for _ in range(2)]
        for p in params:
            p.grad = torch.randn(d, generator=drawn)
        ours, other = seconds([Local(params[:1], name, lr=0.01, **numbers), theirs(params[1:])])
        print(f"{name:10} fedspec_use {1e3 * ours:.2f}   torch.optim {1e3 * other:.2f}   ratio {ours / other:.2f}")


if __name__ == "__main__":
    main()
