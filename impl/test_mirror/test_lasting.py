"""A text may hold a gradient and ask for another: some ways have one memory for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from test_mirror.support import chain, classes
from torch import Tensor, nn

from fedspec_torch import Federation
from fedspec_torch.plan import Plan
from fedspec_torch.population import Batched

PLANS = [Plan((2, 0, 1), (3, 3, 3), (6, 4, 8)), Plan((2, 0, 1), (1, 3, 2), (6, 4, 8))]


def federation(way: str | None) -> Federation:
    """Three clients of a chain of layers."""
    module, data = chain(5, 4, 3, seed=0), classes((4, 8, 6), 5)
    return Federation(module, nn.functional.cross_entropy, data, batch_size=2, shuffled=False, way=way)


def of_one_step(i: Any, x: Tensor, gradient: Any, tau: int) -> Tensor:
    """Two gradients at each step, of which the first is read last."""
    y = x
    for k in range(tau):
        before, now = gradient(k, x), gradient(k, y)
        y = y - 0.5 * (now - 0.5 * before)
    return y - x


def of_two_steps(i: Any, x: Tensor, gradient: Any, tau: int) -> Tensor:
    """The gradient of the step before is read once more, after the next one was asked for."""
    y, last = x, 0 * x
    for k in range(tau):
        g = gradient(k, y)
        y = y - 0.5 * (g + 0.5 * last)
        last = g
    return y - x


@pytest.mark.table(10)
@pytest.mark.parametrize("plan", PLANS, ids=["equal", "unequal"])
@pytest.mark.parametrize("text", [of_one_step, of_two_steps])
@pytest.mark.parametrize("way", ["compiled", "layered", "stacked", "vmapped", None])
def test_a_gradient_that_is_held_stays_what_it_was(way: str | None, text: Any, plan: Plan) -> None:
    ends = []
    for one in (way, "looped"):
        fed = federation(one)
        ends.append(Batched(fed.in_round(0)).each(text, plan, fed.x0))
    torch.testing.assert_close(*ends, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("way", ["compiled", "layered", "stacked", "vmapped", "looped", None])
def test_gradients_that_a_text_asks_for_itself_stay_too(way: str | None) -> None:
    """Gradients of all clients, over steps, rounds and the clients' work; and of one client."""
    fed = federation(way)
    clients, X = Batched(fed.in_round(0)), fed.x0.repeat(3, 1)
    asked: list[Callable[[], object]] = [
        lambda: clients.gradients((0, 1, 2), 1, X + 1),
        lambda: Batched(fed.in_round(1)).gradients((0, 1, 2), 0, X + 2),
        lambda: clients.each(of_one_step, PLANS[1], fed.x0),
        lambda: clients[1](0, fed.x0 + 1),
    ]
    for ask in asked:
        for first in (lambda: clients.gradients((0, 1, 2), 0, X), lambda: clients[0](0, fed.x0)):
            g = first()
            was = g.clone()
            ask()
            assert torch.equal(g, was)
