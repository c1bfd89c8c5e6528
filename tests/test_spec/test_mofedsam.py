"""MoFedSAM by hand, in fractions, and beside a loop over numbers whose batches have gradients of their own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import pytest
from test_spec.control_runs import ROUNDS, Run, batches, line
from test_spec.exact import vec
from test_spec.test_fedsam import SLOPES, gradient


def test_two_rounds_by_hand() -> None:
    """F = y^2 from 1: at 11/10 the gradient is 22/10, of which a half is taken, and D is that half."""
    hyper = {"eta_l": F(1, 4), "radius": F(1, 10), "eps": 0, "rho": F(1, 2)}
    run = Run("mofedsam", hyper, line(0, h=(2,)).clients, (1,), vec(1))
    first = run.round((1,))
    assert (first["D"][0], run.x[0]) == (F(11, 10), F(29, 40))
    second = run.round((1,))
    assert second["D"][0] == (2 * (F(29, 40) + F(1, 10)) + F(11, 10)) / 2
    assert run.x[0] == F(29, 40) - second["D"][0] / 4


def looped(
    rounds: Sequence[dict[int, int]], n: Sequence[int], *, lr: F, server: F, radius: F, eps: F, beta: F
) -> list[F]:
    """One number after another: the sign of a batch says where to look, and what is kept is a fall over its length."""
    x, kept, models = F(3), F(0), []
    for steps in rounds:
        weight, fall, K = sum(n[i] for i in steps), F(0), F(0)
        for i, tau in steps.items():
            y = x
            for k in range(tau):
                g = gradient(i, k, y)
                sign = (g > 0) - (g < 0)
                there = gradient(i, k, y + sign * (radius - radius * eps / (abs(g) + eps)))
                y -= lr * (beta * there + (1 - beta) * kept)
            fall += F(n[i], weight) * (x - y)
            K += F(n[i] * tau, weight)
        x, kept = x - server * fall, fall / K / lr
        models.append(x)
    return models


@pytest.mark.parametrize("weights", ["uniform", "examples"])
def test_it_is_the_loop_over_batches(weights: str) -> None:
    clients = batches(SLOPES)
    given: dict[str, Any] = {"eta_l": F(1, 8), "eta": F(3, 4), "radius": F(1, 2), "eps": F(1, 16), "rho": F(2, 3)}
    run = Run("mofedsam", {**given, "weights": weights}, clients, (2, 1, 5), vec(3))
    got = [run.rounds([steps])[0] for steps in ROUNDS]
    n = (2, 1, 5) if weights == "examples" else (1, 1, 1)
    numbers = {"lr": F(1, 8), "server": F(3, 4), "radius": F(1, 2), "eps": F(1, 16), "beta": F(1, 3)}
    assert got == looped(ROUNDS, n, **numbers)
