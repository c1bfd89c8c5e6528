"""Gradient tracking and CHOCO by hand, in fractions, and beside loops over clients."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms import choco, d2, diging, k_gt, led
from fedspec.algorithms.choco import Choco
from fedspec.algorithms.d2 import D2
from fedspec.algorithms.diging import Diging
from fedspec.algorithms.k_gt import Kgt
from fedspec.algorithms.led import Led
from fedspec.plan import Exchange, Setup

SLOPES, PULLS = (F(1), F(2), F(1, 2)), (F(3), F(-2), F(4))
"""Clients a_i x - b_i."""

LOPSIDED = [[F(1, 2), F(1, 2), F(0)], [F(1, 6), F(1, 6), F(2, 3)], [F(1, 3), F(1, 3), F(1, 3)]]
"""Doubly stochastic and not symmetric."""


def clients() -> list[Any]:
    return [lambda t, x, a=a, b=b: a * x - b for a, b in zip(SLOPES, PULLS, strict=True)]


def setup(n: int = 3) -> Setup:
    return Setup(examples=(1,) * n, shapes={"w": (1,)})


def exchange(W: Any, steps: int) -> Exchange:
    return Exchange((), (tuple(range(len(W))),) * steps, np.array(W, dtype=object))


def grad(i: int, x: F) -> F:
    return SLOPES[i] * x - PULLS[i]


def mixed(W: Any, row: list[F]) -> list[F]:
    return [sum((w * v for w, v in zip(ws, row, strict=True)), F(0)) for ws in W]


STARTS = [F(1), F(0), F(-2)]


def followed(module: Any, h: Any, steps: list[int], W: Any = LOPSIDED) -> tuple[list[F], dict[str, Any]]:
    """The models after some exchanges, and what the last one shows."""
    state, shown = module.init(h, np.array(STARTS, dtype=object), setup()), {}
    for n in steps:
        state, shown = STEPS[module](h, state, clients(), exchange(W, n))
    return list(state.x), shown


STEPS: dict[Any, Any] = {diging: diging.step, d2: d2.step, k_gt: k_gt.k_gt, led: led.led}


# DIGing.


def test_two_steps_of_two_clients_by_hand() -> None:
    """Gradients x - 1 and 3 x + 1 from 1 and 1, W = J, eta_l = 1/2."""
    oracles = [lambda t, x: x - 1, lambda t, x: 3 * x + 1]
    J = [[F(1, 2), F(1, 2)]] * 2
    h = Diging(eta_l=F(1, 2))
    state = diging.init(h, np.array([F(1), F(1)], dtype=object), setup(2))
    # Y = (0, 4) at first: X = (1, -1), where the gradients are (0, -2), 0 and -6 from those before.
    state, shown = diging.step(h, state, oracles, exchange(J, 1))
    assert list(state.x) == [1, -1] and list(shown["Y"]) == [2, -4]
    # X = 0 - (1, -2), where the gradients are (-2, 7); Y = -1 + (-2, 9).
    state, shown = diging.step(h, state, oracles, exchange(J, 1))
    assert list(state.x) == [-1, 2] and list(shown["Y"]) == [-3, 8]


@pytest.mark.parametrize(
    ("tracking", "start", "x", "y"),
    [
        ("semi-atc", "gradient", [0, 0], [1, -1]),
        ("atc", "gradient", [0, 0], [0, 0]),
        # Nothing is tracked at first: the step only mixes, and Y is then the whole gradient (0, 4), or its mean.
        ("diging", "zero", [1, 1], [0, 4]),
        ("semi-atc", "zero", [1, 1], [0, 4]),
        ("atc", "zero", [1, 1], [2, 2]),
    ],
)
def test_a_step_of_two_clients_in_other_readings(tracking: Any, start: Any, x: list[int], y: list[int]) -> None:
    """Clients at 1 and 1 - 2, whose mean is 0, where the gradients are (-1, 1)."""
    oracles = [lambda t, x: x - 1, lambda t, x: 3 * x + 1]
    h = Diging(eta_l=F(1, 2), tracking=tracking, start=start)
    state = diging.init(h, np.array([F(1), F(1)], dtype=object), setup(2))
    state, shown = diging.step(h, state, oracles, exchange([[F(1, 2), F(1, 2)]] * 2, 1))
    assert list(state.x) == x and list(shown["Y"]) == y


def test_the_first_round_asks_for_a_gradient_more() -> None:
    asked: list[tuple[int, int]] = []

    def counting(i: int) -> Any:
        def oracle(t: int, x: Any) -> Any:
            asked.append((i, t))
            return SLOPES[i] * x - PULLS[i]

        return oracle

    h = Diging(eta_l=F(1, 4))
    state, counts = diging.init(h, np.array(STARTS, dtype=object), setup()), []
    for _ in range(2):
        state, _ = diging.step(h, state, [counting(i) for i in range(3)], exchange(LOPSIDED, 2))
        counts.append(len(asked))
    assert counts == [9, 15]


# K-GT, LED and D2.


def local(x: F, i: int, push: F, eta: F, tau: int) -> F:
    """End of local steps under a constant force beside the gradient."""
    for _ in range(tau):
        x = x - eta * (grad(i, x) + push)
    return x


def test_k_gt_is_the_loop_over_clients() -> None:
    """With memories of its own: each client knows the sum of what it has sent and of what it has heard."""
    eta, eta_s, rounds = F(1, 4), F(1, 2), [2, 1, 3]
    x, sent, heard = list(STARTS), [F(0)] * 3, [F(0)] * 3
    for tau in rounds:
        ends = [local(x[i], i, heard[i] - sent[i], eta, tau) for i in range(3)]
        went = [(a - b) / (tau * eta) for a, b in zip(x, ends, strict=True)]
        sent = [a + b for a, b in zip(sent, went, strict=True)]
        heard = [a + b for a, b in zip(heard, mixed(LOPSIDED, went), strict=True)]
        x = mixed(LOPSIDED, [a + eta_s * (b - a) for a, b in zip(x, ends, strict=True)])
    models, shown = followed(k_gt, Kgt(eta_l=eta, eta=eta_s), rounds)
    assert models == x and list(shown["V"]) == went
    assert list(shown["C"]) == [a - b for a, b in zip(heard, sent, strict=True)]


def test_led_is_the_loop_over_clients() -> None:
    eta, rounds = F(1, 4), [2, 1, 3]
    x, lost = list(STARTS), [F(0)] * 3
    for tau in rounds:
        ends = [local(x[i], i, lost[i] / (tau * eta), eta, tau) for i in range(3)]
        x = mixed(LOPSIDED, ends)
        lost = [a + b - c for a, b, c in zip(lost, ends, x, strict=True)]
    models, shown = followed(led, Led(eta_l=eta), rounds)
    assert models == x and list(shown["dual"]) == lost


@pytest.mark.parametrize("matrix", ["whole", "half"])
def test_d2_is_exact_diffusion_of_each_client(matrix: Any) -> None:
    """Adapt, correct, combine, as exact diffusion is written: psi is where a plain step would lead."""
    eta, x = F(1, 4), list(STARTS)
    psi = list(x)
    for _ in range(6):
        ahead = [x[i] - eta * grad(i, x[i]) for i in range(3)]
        phi = [a + b - c for a, b, c in zip(ahead, x, psi, strict=True)]
        halves = [(a + b) / 2 for a, b in zip(phi, mixed(LOPSIDED, phi), strict=True)]
        x, psi = halves if matrix == "half" else mixed(LOPSIDED, phi), ahead
    assert followed(d2, D2(eta_l=eta, matrix=matrix), [2, 1, 3])[0] == x


# CHOCO.


def test_two_steps_of_two_clients_who_send_one_entry() -> None:
    """Gradients (2, -4) and (0, 2), k = 1, W = J, consensus 1/2, eta_l = 1/2; nothing is known at first.

    The models go to (-1, 2) and (0, -1): 2 and -1 in the second entry are sent, their mean is 1/2, and the models move
    half the way from what is known of them: -3/4 and 3/4.
    """
    gradients = [np.array([F(2), F(-4)]), np.array([F(0), F(2)])]
    oracles = [lambda t, x, g=g: g for g in gradients]
    J = [[F(1, 2), F(1, 2)]] * 2
    h = Choco(eta_l=F(1, 2), consensus=F(1, 2), kept=1)
    state = choco.init(h, np.array([F(0)] * 4, dtype=object), setup(2))
    state, shown = choco.step(h, state, oracles, exchange(J, 1))
    assert state.X.tolist() == [[-1, F(5, 4)], [0, F(-1, 4)]]
    assert list(shown["X_hat"]) == [0, 2, 0, -1]
    # (-2, 13/4) and (0, -5/4) less what is known: (-2, 5/4) and (0, -1/4).
    state, shown = choco.step(h, state, oracles, exchange(J, 1))
    assert list(shown["X_hat"]) == [-2, 2, 0, F(-5, 4)]
    assert state.X.tolist() == [[F(-3, 2), F(39, 16)], [F(-1, 2), F(-7, 16)]]
