"""MimeLite and Mime by hand, in fractions, and beside a loop over numbers whose batches have gradients of their own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F

import pytest
from test_spec.control_runs import ROUNDS, Run, batches, gradient
from test_spec.exact import vec

from fedspec.algorithms.mime import step
from fedspec.algorithms.mime_lite import MimeLite, init
from fedspec.plan import Plan, Setup
from fedspec.varying import stepped


def looped(
    rounds: Sequence[dict[int, int]], n: Sequence[int], *, lite: bool, lr: F, server: F, beta: F, trace: bool
) -> list[F]:
    """Loop over numbers, as codes have it: the messages, each client's use of them, and the server's result."""
    x, s, models = F(3), F(0), []
    into = F(1) if trace else 1 - beta
    for steps in rounds:
        weight = sum(n[i] for i in steps)
        full = {i: sum(gradient(i, k, x) for k in range(tau)) / tau for i, tau in steps.items()}
        c = sum(n[i] * full[i] for i in steps) / weight
        drop = F(0)
        for i, tau in steps.items():
            y = x
            for k in range(tau):
                g = gradient(i, k, y)
                g = g if lite else g - gradient(i, k, x) + c
                y -= lr * (into * g + beta * s)
            drop += n[i] * (x - y) / weight
        x, s = x - server * drop, into * c + beta * s
        models.append(x)
    return models


@pytest.mark.parametrize("weights", ["uniform", "examples"])
@pytest.mark.parametrize("form", ["average", "sum"])
@pytest.mark.parametrize("algorithm", ["mime-lite", "mime"])
def test_it_is_the_loop_over_batches(algorithm: str, form: str, weights: str) -> None:
    """Both gradients of a correction are of one batch; a client's at x is the mean over the batches of its steps."""
    clients = batches()
    given = {"eta_l": F(1, 8), "eta": F(3, 4), "beta": F(1, 3)}
    run = Run(algorithm, {**given, "momentum_sum": form, "weights": weights}, clients, (2, 1, 5), vec(3))
    got = [run.rounds([steps])[0] for steps in ROUNDS]
    n = (2, 1, 5) if weights == "examples" else (1, 1, 1)
    loop = {"lr": F(1, 8), "server": F(3, 4), "beta": F(1, 3), "trace": form == "sum"}
    assert got == looped(ROUNDS, n, lite=algorithm == "mime-lite", **loop)


def test_clients_of_mime_may_have_rates_of_their_own() -> None:
    """Asked first for their gradients, 2 and -6, they step by a half and an eighth along the mean -2: 1 and 1/4."""
    h = MimeLite(eta_l=F(1), beta=F(0))
    state = init(h, vec(0), Setup((1, 1), {"w": (1,)}))
    clients = [lambda k, x, g=g: vec(g) for g in (2, -6)]
    plan = Plan((0, 1), (1, 1), (1, 1), hyper={"eta_l": (F(1, 2), F(1, 8))})
    state, shown = stepped(step, h, state, clients, plan)
    assert (state.x[0], shown["g_x"][0]) == (F(5, 8), -2)
