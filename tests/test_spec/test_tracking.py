"""Gradient tracking by hand, in fractions, beside loops over clients and numbers; where it comes to rest."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms import diging
from fedspec.algorithms.diging import Diging
from fedspec.plan import Exchange, Setup

SLOPES, PULLS = (F(1), F(2), F(1, 2)), (F(3), F(-2), F(4))
"""Clients a_i x - b_i; the minimum of their mean is at sum b_i / sum a_i."""

LOPSIDED = [[F(1, 2), F(1, 2), F(0)], [F(1, 6), F(1, 6), F(2, 3)], [F(1, 3), F(1, 3), F(1, 3)]]
"""Doubly stochastic and not symmetric."""

BEST = sum(PULLS) / sum(SLOPES)


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
        state, shown = module.step(h, state, clients(), exchange(W, n))
    return list(state.x), shown


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


def looped(steps: int, eta: F, tracking: str, start: str, W: Any = LOPSIDED) -> tuple[list[F], list[F]]:
    """Every client and number by itself, as a program on one machine would have it."""
    x = list(STARTS)
    g = [grad(i, x[i]) if start == "gradient" else F(0) for i in range(3)]
    y = list(g)
    for _ in range(steps):
        ahead = [x[i] - eta * y[i] for i in range(3)]
        x = [m - eta * y_i for m, y_i in zip(mixed(W, x), y, strict=True)] if tracking == "diging" else mixed(W, ahead)
        new = [grad(i, x[i]) for i in range(3)]
        rise = [a - b for a, b in zip(new, g, strict=True)]
        if tracking == "atc":
            y = mixed(W, [a + b for a, b in zip(y, rise, strict=True)])
        else:
            y = [a + b for a, b in zip(mixed(W, y), rise, strict=True)]
        g = new
    return x, y


@pytest.mark.parametrize("start", ["gradient", "zero"])
@pytest.mark.parametrize("tracking", ["diging", "semi-atc", "atc"])
def test_diging_is_the_loop(tracking: Any, start: Any) -> None:
    h = Diging(eta_l=F(1, 4), tracking=tracking, start=start)
    models, shown = followed(diging, h, [2, 1, 3])
    assert (models, list(shown["Y"])) == looped(6, F(1, 4), tracking, start)


@pytest.mark.parametrize("start", ["gradient", "zero"])
@pytest.mark.parametrize("tracking", ["diging", "semi-atc", "atc"])
def test_diging_comes_to_rest_at_the_minimum(tracking: Any, start: Any) -> None:
    """Decentralised SGD with this rate stays away from it."""
    h = Diging(eta_l=0.1, tracking=tracking, start=start)
    W = np.array(LOPSIDED, dtype=float)
    oracles = [lambda t, x, a=float(a), b=float(b): a * x - b for a, b in zip(SLOPES, PULLS, strict=True)]
    state = diging.init(h, np.array(STARTS, dtype=float), setup())
    for _ in range(80):
        state, _ = diging.step(h, state, oracles, Exchange((), ((0, 1, 2),) * 10, W))
    assert np.allclose(state.x, float(BEST), atol=1e-12)


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
