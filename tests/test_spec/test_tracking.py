"""Gradient tracking and CHOCO by hand, in fractions, beside loops over clients and numbers; where they come to rest."""

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


@pytest.mark.table(1)
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


# K-GT, LED and D2.


def local(x: F, i: int, push: F, eta: F, tau: int) -> F:
    """Where local steps end under a constant force beside the gradient."""
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


def ring(n: int, own: float) -> Any:
    W = np.eye(n) * own
    for i in range(n):
        W[i, (i + 1) % n] += (1 - own) / 2
        W[i, (i - 1) % n] += (1 - own) / 2
    return W


def run_on(W: Any, module: Any, h: Any, rounds: int, tau: int) -> Any:
    """Models after rounds of four clients x_i -> a_i (x - b_i), in floats."""
    a, b = (1.0, 0.5, 2.0, 1.5), (1.0, -2.0, 3.0, 0.0)
    oracles = [lambda t, x, a=p, b=q: a * (x - b) for p, q in zip(a, b, strict=True)]
    state = module.init(h, np.zeros(4), setup(4))
    for _ in range(rounds):
        state, _ = STEPS[module](h, state, oracles, Exchange((), (tuple(range(4)),) * tau, W))
    return state


RING_BEST = (1.0 * 1 - 0.5 * 2 + 2.0 * 3) / 5


@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("module", "h", "tau"),
    [(k_gt, Kgt(eta_l=0.05, eta=1), 5), (k_gt, Kgt(eta_l=0.05, eta=0.5), 5), (led, Led(eta_l=0.05), 5)],
    ids=["k-gt", "k-gt-slow", "led"],
)
def test_local_steps_do_not_move_the_limit(module: Any, h: Any, tau: int) -> None:
    state = run_on(ring(4, 0.5), module, h, 600, tau)
    assert np.allclose(state.x, RING_BEST, atol=1e-11)
    if module is led:
        slopes = np.array([1.0, 0.5, 2.0, 1.5]) * (RING_BEST - np.array([1.0, -2.0, 3.0, 0.0]))
        assert np.allclose(state.dual[:, 0], -tau * 0.05 * slopes, atol=1e-11)


@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("own", "matrix", "ends"), [(0.34, "whole", True), (0.32, "whole", False), (0.2, "half", True)]
)
def test_d2_needs_eigenvalues_above_minus_a_third(own: float, matrix: Any, ends: bool) -> None:
    """The least eigenvalue of a ring of four is 2 own - 1: -0.32 and -0.36 on either side, -0.6 halved to 0.2."""
    with np.errstate(over="ignore", invalid="ignore"):
        x = run_on(ring(4, own), d2, D2(eta_l=0.01, matrix=matrix), 2000, 1).x
    assert bool(np.allclose(x, RING_BEST, atol=1e-6)) is ends


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


@pytest.mark.parametrize("known", ["nothing", "models"])
@pytest.mark.parametrize("exchanged", ["told", "mixed"])
@pytest.mark.parametrize("compressor", ["top-k", "scaled-sign"])
def test_choco_is_the_loop_over_neighbours(compressor: Any, exchanged: Any, known: Any) -> None:
    """Each client keeps a copy of what it has heard of everybody, and no stack."""
    rng = np.random.default_rng(3)
    eta, gamma, n, d = F(1, 4), F(1, 2), 3, 3
    pulls = [[F(int(v), 4) for v in rng.integers(-9, 10, d)] for _ in range(n)]
    x = [[F(int(v), 8) for v in rng.integers(-9, 10, d)] for _ in range(n)]
    start = np.array(x, dtype=object).reshape(-1)
    copies = [[list(row) if known == "models" else [F(0)] * d for row in x] for _ in range(n)]

    def message(v: list[F]) -> list[F]:
        if compressor == "scaled-sign":
            size = sum(map(abs, v)) / d
            return [size * ((a > 0) - (a < 0)) for a in v]
        best = max(range(d), key=lambda j: (abs(v[j]), -j))
        return [a if j == best else F(0) for j, a in enumerate(v)]

    def tell() -> None:
        for i in range(n):
            q = message([a - b for a, b in zip(x[i], copies[i][i], strict=True)])
            for own in copies:
                own[i] = [a + b for a, b in zip(own[i], q, strict=True)]

    def mix() -> None:
        for i in range(n):
            for j in range(n):
                w = gamma * LOPSIDED[i][j]
                x[i] = [a + w * (b - c) for a, b, c in zip(x[i], copies[i][j], copies[i][i], strict=True)]

    for _ in range(5):
        for i in range(n):
            x[i] = [a - eta * ((i + 1) * a - b) for a, b in zip(x[i], pulls[i], strict=True)]
        for act in (tell, mix) if exchanged == "told" else (mix, tell):
            act()
    more = {"kept": 1} if compressor == "top-k" else {}
    h = Choco(eta_l=eta, consensus=gamma, compressor=compressor, exchanged=exchanged, known=known, **more)
    oracles = [lambda t, y, i=i: (i + 1) * y - np.array(pulls[i], dtype=object) for i in range(n)]
    state = choco.init(h, start, setup())
    for steps in (2, 3):
        state, shown = choco.step(h, state, oracles, exchange(LOPSIDED, steps))
    assert state.X.tolist() == x
    assert shown["X_hat"].reshape(n, d).tolist() == copies[0]


def test_choco_agrees_on_the_mean_and_runs_away_where_it_mixes_too_much() -> None:
    """One entry of five is sent, four clients on a ring, no gradient."""
    start, oracles = np.random.default_rng(1).normal(size=(4, 5)), [lambda t, x: 0 * x] * 4
    ends = {}
    for gamma in (0.3, 1.0):
        h = Choco(eta_l=0.1, consensus=gamma, kept=1)
        state = choco.init(h, start.reshape(-1), setup(4))
        for _ in range(60):
            state, _ = choco.step(h, state, oracles, Exchange((), (tuple(range(4)),) * 10, ring(4, 1 / 3)))
        ends[gamma] = np.abs(state.X - start.mean(axis=0)).max()
    assert ends[0.3] < 1e-9 and ends[1.0] > 1e3
