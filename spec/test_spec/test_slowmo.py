"""SlowMo by hand, in fractions, and beside the loop that its public codes write."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest
from test_spec.exact import vec

from fedspec.server.momentum import init
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


@pytest.mark.parametrize("rates", [FALLING, FALLING[::-1], [F(1, 3)] * 4], ids=["falling", "rising", "staying"])
def test_it_is_the_loop_of_its_public_codes(rates: list[F]) -> None:
    given = {"eta": F(3, 4), "beta": F(1, 3)}
    assert followed(CHANGES, rates, **given) == looped(CHANGES, rates, **given)
