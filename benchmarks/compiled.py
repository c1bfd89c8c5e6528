"""Time of a gradient of the benchmark's modules, with and without ``torch.compile``, measured in turns.

``python benchmarks/compiled.py [MODULE ...]`` takes one thread, and a C++ compiler for torch's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

import torch
from torch import Tensor, nn

from fedspec_bench.networks import NETWORKS, Network
from fedspec_bench.peers.torch_optim.networks import network, trained

TURNS = 100


def beside(work: Network) -> tuple[float, float, float]:
    """Return the median seconds of a gradient without and with ``torch.compile``, and of the first compiled call."""
    module = network(work)
    inputs, targets = (torch.from_numpy(part[0, : work.batch]) for part in work.data)

    def gradient(call: Callable[[Tensor], Tensor]) -> tuple[float, Tensor]:
        begun = perf_counter()
        found = torch.autograd.grad(nn.functional.cross_entropy(call(inputs), targets), trained(module))
        return perf_counter() - begun, torch.cat([g.reshape(-1) for g in found])

    compiled = torch.compile(module)
    (_, want), (first, got) = gradient(module), gradient(compiled)
    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-5)
    turns = [[gradient(call)[0] for call in (module, compiled)] for _ in range(TURNS)]
    plain, other = (median(own) for own in zip(*turns, strict=True))
    return plain, other, first


def main(names: list[str]) -> None:
    """Print the times of each module."""
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, one thread; milliseconds of a gradient of twenty examples")
    for name in names or ["transformer", "lora"]:
        plain, other, first = beside(NETWORKS[name])
        told = f"as it stands {1e3 * plain:.2f}   compiled {1e3 * other:.2f}   ratio {plain / other:.2f}"
        print(f"{name:12} {told}   the first {first:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
