"""MimeLite and Mime on a module and minibatches: a plain loop that is told which batch is which, in every way."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_mirror.kinds import Kind
from test_mirror.loops import RATE, SERVER, STEPS, Plain, mean
from test_mirror.test_kinds import Events
from torch import Tensor, nn

from fedspec.errors import ParameterError
from fedspec.plan import Plan
from fedspec_torch import Federation, simulate

KIND = Kind(lambda: nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)))
BETA, ROUNDS = 0.5, 3


def looped(plain: Plain, *, lite: bool, steps: tuple[int, ...]) -> list[Tensor]:
    """Every client by itself; its gradient at x is the mean over the minibatches of its steps."""
    x, m = plain.x, [0 * part for part in plain.x]
    for plain.round in range(ROUNDS):
        at_x = [[plain.gradient(x, i, k) for k in range(tau)] for i, tau in enumerate(steps)]
        g_x = mean([mean(G, [1 / len(G)] * len(G)) for G in at_x], [1 / 3] * 3)
        ends = []
        for i, tau in enumerate(steps):
            y = x
            for k in range(tau):
                g = plain.gradient(y, i, k)
                if not lite:
                    g = [a - b + c for a, b, c in zip(g, at_x[i][k], g_x, strict=True)]
                y = [v - RATE * ((1 - BETA) * a + BETA * b) for v, a, b in zip(y, g, m, strict=True)]
            ends.append(y)
        x = [v + SERVER * (y - v) for v, y in zip(x, mean(ends, [1 / 3] * 3), strict=True)]
        m = [(1 - BETA) * a + BETA * b for a, b in zip(g_x, m, strict=True)]
    return x


class Unequal(Events):
    """The same with other numbers of steps."""

    def events(self, row: Any, h: Any, setup: Any, x: Any, number: int) -> tuple[Any, ...]:
        """Those of a round."""
        return (Plan((0, 1, 2), (1, 3, 2), setup.examples),)


def in_every_way(test: Any) -> Any:
    """With equal and unequal numbers of steps, however gradients are computed."""
    of_each = pytest.mark.parametrize("steps", [(STEPS,) * 3, (1, 3, 2)], ids=["equal", "unequal"])(test)
    return pytest.mark.parametrize("way", [None, "stacked", "looped", "layered", "vmapped", "compiled"])(of_each)


def off(want: list[Tensor], id: str, steps: tuple[int, ...], way: str | None, **numbers: float) -> float:
    """How far a run on minibatches ends from there, beside how far it went."""
    module, loss, data = KIND.made()
    fed = Federation(module, loss, data, batch_size=2, shuffled=False, way=way)
    plan = Events(id) if len(set(steps)) == 1 else Unequal(id)
    run = simulate(id, fed, plan=plan, rounds=ROUNDS, eta_l=RATE, **numbers)
    list(run)
    there = torch.cat([part.reshape(-1) for part in want])
    return float((run.x - there).norm() / (there - fed.x0).norm())


@pytest.mark.table(1)
@in_every_way
@pytest.mark.parametrize("algorithm", ["mime-lite", "mime"])
def test_a_run_on_minibatches_is_the_plain_loop(algorithm: str, steps: tuple[int, ...], way: str | None) -> None:
    want = looped(Plain(KIND), lite=algorithm == "mime-lite", steps=steps)
    assert off(want, algorithm, steps, way, eta=SERVER, beta=BETA) < 1e-9


def test_rates_of_each_client_are_refused_in_shards_where_gradients_are_asked_for_first() -> None:
    module, loss, data = KIND.made()
    given: dict[str, Any] = {
        "plan": Events("mime"),
        "rounds": 1,
        "beta": BETA,
        "rates": {"eta_l": lambda r, i: RATE / (1 + i)},
    }
    list(simulate("mime", Federation(module, loss, data), **given))
    with pytest.raises(ParameterError, match="asks for gradients before its clients begin"):
        list(simulate("mime", Federation(module, loss, data), shards=2, **given))
    list(simulate("mime-lite", Federation(module, loss, data), shards=2, **given))
