"""FedPD on a module and minibatches: a plain loop whose clients go on from where they were, in every way."""

from __future__ import annotations

import pytest
import torch
from test_mirror.kinds import Kind
from test_mirror.loops import RATE, STEPS, Plain
from test_mirror.test_kinds import Events
from test_mirror.test_mime import Unequal
from torch import Tensor, nn

from fedspec_torch import Federation, simulate

KIND = Kind(lambda: nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)))
MU, ROUNDS = 0.5, 3


def looped(plain: Plain, steps: tuple[int, ...]) -> list[Tensor]:
    """Tensor by tensor; a client's sum of all its distances from the server's models stands for its dual."""
    x = plain.x
    at, gone = [x] * 3, [[0 * part for part in x]] * 3
    for plain.round in range(ROUNDS):
        for i, tau in enumerate(steps):
            for k in range(tau):
                g = plain.gradient(at[i], i, k)
                at[i] = [y - RATE * (a + MU * (far + y - v)) for y, a, far, v in zip(at[i], g, gone[i], x, strict=True)]
            gone[i] = [far + y - v for far, y, v in zip(gone[i], at[i], x, strict=True)]
        x = [sum(parts) / 3 for parts in zip(*at, strict=True)]
        x = [v + sum(parts) / 3 for v, parts in zip(x, zip(*gone, strict=True), strict=True)]
    return x


@pytest.mark.parametrize("way", [None, "stacked", "looped", "layered", "vmapped", "compiled"])
@pytest.mark.parametrize("steps", [(STEPS,) * 3, (1, 3, 2)], ids=["equal", "unequal"])
def test_a_run_on_minibatches_is_the_plain_loop(steps: tuple[int, ...], way: str | None) -> None:
    module, loss, data = KIND.made()
    fed = Federation(module, loss, data, batch_size=2, shuffled=False, way=way)
    plan = Events("fedpd") if len(set(steps)) == 1 else Unequal("fedpd")
    run = simulate("fedpd", fed, plan=plan, rounds=ROUNDS, eta_l=RATE, mu=MU)
    list(run)
    want = torch.cat([part.reshape(-1) for part in looped(Plain(KIND), steps)])
    assert float((run.x - want).norm() / (want - fed.x0).norm()) < 1e-9
