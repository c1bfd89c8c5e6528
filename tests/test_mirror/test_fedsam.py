"""FedSAM and MoFedSAM on a module and minibatches: a plain loop that is told which batch is which, in every way."""

from __future__ import annotations

import pytest
import torch
from test_mirror.kinds import Kind
from test_mirror.loops import RATE, SERVER, STEPS, Plain, mean
from test_mirror.test_kinds import Events
from test_mirror.test_mime import Unequal
from torch import Tensor, nn

from fedspec_torch import Federation, simulate

KIND = Kind(lambda: nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)))
RADIUS, EPS, ROUNDS = 0.5, 0.125, 3


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


@pytest.mark.parametrize("way", [None, "stacked", "looped", "layered", "vmapped", "compiled"])
@pytest.mark.parametrize("steps", [(STEPS,) * 3, (1, 3, 2)], ids=["equal", "unequal"])
@pytest.mark.parametrize(("id", "hyper"), [("fedsam", {}), ("mofedsam", {"rho": 0.25})])
def test_a_run_on_minibatches_is_the_plain_loop(
    id: str, hyper: dict[str, float], steps: tuple[int, ...], way: str | None
) -> None:
    module, loss, data = KIND.made()
    fed = Federation(module, loss, data, batch_size=2, shuffled=False, way=way)
    plan = Events(id) if len(set(steps)) == 1 else Unequal(id)
    run = simulate(id, fed, plan=plan, rounds=ROUNDS, eta_l=RATE, eta=SERVER, radius=RADIUS, eps=EPS, **hyper)
    list(run)
    want = torch.cat([part.reshape(-1) for part in looped(Plain(KIND), steps, hyper.get("rho", 0.0))])
    assert float((run.x - want).norm() / (want - fed.x0).norm()) < 1e-9
