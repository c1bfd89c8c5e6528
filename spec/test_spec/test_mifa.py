"""MIFA by hand, in fractions, beside a loop over a table of changes, as the authors' code keeps one."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest
from test_spec.exact import vec

from fedspec.algorithms.mifa import Mifa, init, step
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import constant

GRADIENTS = [vec(1, -2), vec(3, F(1, 2)), vec(-5, 4)]


def followed(rounds: list[tuple[tuple[int, ...], tuple[int, ...], F]]) -> list[list[F]]:
    """The models of a run on linear objectives: who takes part, with how many steps, at what rate."""
    clients = [constant(g) for g in GRADIENTS]
    state, models = init(Mifa(eta_l=F(1)), vec(0, 0), Setup(examples=(1, 2, 3), shapes={"w": (2,)})), []
    for who, steps, eta_l in rounds:
        state, _ = step(Mifa(eta_l=eta_l), state, clients, Plan(who, steps, tuple(1 + i for i in who)))
        models.append(list(state.x))
    return models


def looped(rounds: list[tuple[tuple[int, ...], tuple[int, ...], F]]) -> list[list[F]]:
    """Every number by itself: a change over its rate replaces an entry, and all entries are averaged."""
    x, table, models = [F(0), F(0)], [[F(0), F(0)] for _ in GRADIENTS], []
    for who, steps, lr in rounds:
        for i, tau in zip(who, steps, strict=True):
            y = list(x)
            for _ in range(tau):
                y = [y[j] - lr * GRADIENTS[i][j] for j in range(2)]
            table[i] = [(y[j] - x[j]) / lr for j in range(2)]
        x = [x[j] + lr * sum(entry[j] for entry in table) / len(table) for j in range(2)]
        models.append(list(x))
    return models


@pytest.mark.parametrize(
    "rounds",
    [
        [((0, 1, 2), (1, 2, 3), F(1, 2)), ((2,), (1,), F(1, 2)), ((0,), (3,), F(1, 8)), ((1, 2), (1, 1), F(1, 4))],
        [((1,), (2,), F(1)), ((1,), (1,), F(1, 3)), ((0, 2), (2, 1), F(1, 3))],
    ],
    ids=["everybody first", "one first"],
)
def test_it_is_the_loop_over_a_table(rounds: list[Any]) -> None:
    assert followed(rounds) == looped(rounds)
