"""FedSAM and MoFedSAM on a module and minibatches: a plain loop that is told which batch is which, in every way."""

from __future__ import annotations

import pytest
import torch
from test_mirror.loops import RATE, SERVER, Plain, mean
from test_mirror.test_mime import KIND, ROUNDS, in_every_way, off
from torch import Tensor

RADIUS, EPS = 0.5, 0.125


def looped(plain: Plain, steps: tuple[int, ...], rho: float) -> list[Tensor]:
    """Every client by itself; both gradients of a step are of its minibatch, and one length is that of all tensors."""
    x = plain.x
    kept = [torch.zeros_like(v) for v in x]
    for plain.round in range(ROUNDS):
        ends = []
        for i, tau in enumerate(steps):
            y = x
            for k in range(tau):
                g = plain.gradient(y, i, k)
                length = torch.cat([part.reshape(-1) for part in g]).norm()
                up = [v + RADIUS / (length + EPS) * part for v, part in zip(y, g, strict=True)]
                there = plain.gradient(up, i, k)
                y = [v - RATE * ((1 - rho) * part + rho * D) for v, part, D in zip(y, there, kept, strict=True)]
            ends.append(y)
        middle = mean(ends, [1 / 3] * 3)
        kept = [(v - y) / (RATE * sum(steps) / 3) for v, y in zip(x, middle, strict=True)]
        x = [v + SERVER * (y - v) for v, y in zip(x, middle, strict=True)]
    return x


@pytest.mark.table(2)
@in_every_way
@pytest.mark.parametrize(("id", "hyper"), [("fedsam", {}), ("mofedsam", {"rho": 0.25})])
def test_a_run_on_minibatches_is_the_plain_loop(
    id: str, hyper: dict[str, float], steps: tuple[int, ...], way: str | None
) -> None:
    want = looped(Plain(KIND), steps, hyper.get("rho", 0.0))
    assert off(want, id, steps, way, eta=SERVER, radius=RADIUS, eps=EPS, **hyper) < 1e-9
