"""SlowMo by hand, in fractions, and beside the loop that its public codes write."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest
from test_spec.exact import vec

from fedspec.server.momentum import ServerMomentum, init
from fedspec.server.slow_momentum import slow_momentum


def followed(changes: list[Any], rates: list[F], *, eta: F, beta: F) -> list[list[F]]:
    """The models of the rule, from 0."""
    state, models = init(vec(0, 0)), []
    for change, eta_l in zip(changes, rates, strict=True):
        state = slow_momentum(state, change, eta_l=eta_l, eta=eta, beta=beta)
        models.append(list(state.x))
    return models


def looped(changes: list[Any], rates: list[F], *, eta: F, beta: F) -> list[list[F]]:
    """Loop of codes: for every number the model before, its mean over the workers, and the buffer."""
    before, kept, models = [F(0), F(0)], [F(0), F(0)], []
    for change, lr in zip(changes, rates, strict=True):
        for j in range(2):
            mean = before[j] + change[j]
            kept[j] = kept[j] * beta - mean / lr + before[j] / lr
            before[j] = before[j] - eta * lr * kept[j]
        models.append(list(before))
    return models


CHANGES = [vec(1, -2), vec(3, F(1, 2)), vec(0, 0), vec(-5, 1)]
FALLING = [F(1), F(1, 2), F(1, 2), F(1, 8)]


def test_two_rounds_by_hand() -> None:
    """v = -4, then -2 - 8 = -10: of changes 1 and 1 at rates 1/4 and 1/8, with beta = 1/2 and eta = 2."""
    state = ServerMomentum(x=vec(0), v=vec(0))
    for eta_l, v, x in ((F(1, 4), -4, 2), (F(1, 8), -10, F(9, 2))):
        state = slow_momentum(state, vec(1), eta_l=eta_l, eta=F(2), beta=F(1, 2))
        assert (list(state.v), list(state.x)) == ([v], [x])


@pytest.mark.parametrize("rates", [FALLING, FALLING[::-1], [F(1, 3)] * 4], ids=["falling", "rising", "staying"])
def test_it_is_the_loop_of_its_public_codes(rates: list[F]) -> None:
    given = {"eta": F(3, 4), "beta": F(1, 3)}
    assert followed(CHANGES, rates, **given) == looped(CHANGES, rates, **given)


def test_a_rate_that_is_halved_halves_what_the_memory_moves() -> None:
    """After one change nothing more is sent: at the old rate FedAvgM's buffer moves on by beta Delta, here by half."""
    (_, still), (_, halved) = (
        followed([vec(1, 1), vec(0, 0)], rates, eta=F(1), beta=F(1, 2)) for rates in ([F(1)] * 2, [F(1), F(1, 2)])
    )
    assert (still, halved) == ([F(3, 2)] * 2, [F(5, 4)] * 2)
