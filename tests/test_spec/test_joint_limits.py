"""Every algorithm that adapts on both sides, or bounds its clients, reaches its own limit, which is not that of FedAvg.

One local step of AdaGrad, Adam or SM3 from an empty state is eta_l g / (|g| + eps), coordinate by coordinate: a round
rests where the sum of these quotients vanishes, not where the sum of gradients does. The objectives
s log cosh(x - c) have gradients s tanh(x - c), bounded as FedAda2's Assumption 2 (L134) asks.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms import (
    fedada2,
    fedadaadagrad,
    fedadaadam,
    fedblended,
    joint_direct,
    joint_local,
    normalised,
    private,
)
from fedspec.plan import Oracle, Plan, Setup
from fedspec.problems.quadratic import QuadraticClients

pytestmark = pytest.mark.long

Scalar = Callable[[float], float]

TEN = [(1.0, 1.0)] + [(0.1, -1.0)] * 9
"""One client who pulls hard to the right, nine who pull softly to the left."""


def gradient(s: float, c: float) -> Scalar:
    return lambda x: s * math.tanh(x - c)


def logcosh(s: float, c: float) -> Oracle:
    return lambda k, x: s * np.tanh(x - c)


def bisect(f: Scalar, low: float = -20.0, high: float = 20.0) -> float:
    """The root of an increasing function."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if f(middle) > 0 else (middle, high)
    return (low + high) / 2


def quotient(g: float, eps: float) -> float:
    return g / (abs(g) + eps)


def fixed_point(clients: Sequence[tuple[float, float]], eps: float) -> float:
    return bisect(lambda x: sum(quotient(gradient(s, c)(x), eps) for s, c in clients))


SERVER: dict[str, Any] = {"eta": 16.0, "beta1": 0.25, "tau": 1.0, "v0": 1.0}
CLIENT: dict[str, Any] = {"eta_l": 1.0, "eps": 1.0}
DECAYS: dict[str, Any] = {"beta1_l": 0.9, "beta2_l": 0.99}


def run(
    step: Any,
    h: Any,
    clients: Sequence[Oracle],
    x0: Any,
    rounds: int,
    steps: int = 1,
    **more: Any,
) -> Any:
    """The state after that many rounds with everybody."""
    start = np.atleast_1d(np.asarray(x0, dtype=float))
    n = len(clients)
    state = sys.modules[type(h).__module__].init(h, start, Setup((1,) * n, {"w": start.shape}))
    plan = Plan(tuple(range(n)), (steps,) * n, (1,) * n, **more)
    for _ in range(rounds):
        state, _ = step(h, state, clients, plan)
    return state


SINGLE = {
    "joint-local": (joint_local.step, joint_local.JointLocal(**CLIENT, **SERVER)),
    "joint-local-adam": (joint_local.step, joint_local.JointLocal(**CLIENT, **SERVER, **DECAYS, client="adam")),  # type: ignore[arg-type]
    "fedada2": (fedada2.step, fedada2.FedAda2(**CLIENT, **SERVER)),
    "fedada2-adam": (fedada2.step, fedada2.FedAda2(**CLIENT, **SERVER, **DECAYS, client="adam")),  # type: ignore[arg-type]
    "fedadaadagrad": (fedadaadagrad.step, fedadaadagrad.FedAdaAdagrad(**CLIENT, **SERVER, z=3)),
    "fedadaadam": (fedadaadam.step, fedadaadam.FedAdaAdam(**CLIENT, **SERVER, **DECAYS, z=2)),
}
"""Rows whose single local step is the quotient g / (|g| + eps)."""


@pytest.mark.table(2)
@pytest.mark.parametrize("row", SINGLE)
@pytest.mark.parametrize("x0", [-3.0, 2.0])
def test_ten_clients_stop_away_from_the_optimum(row: str, x0: float) -> None:
    """The sum of quotients vanishes at -0.38279, the gradient of f at 0.09487; the start does not matter."""
    step, h = SINGLE[row]
    optimum = bisect(lambda x: sum(gradient(s, c)(x) for s, c in TEN))
    limit = fixed_point(TEN, 1.0)
    assert round(limit, 5) == -0.38279 and round(optimum, 5) == 0.09487
    state = run(step, h, [logcosh(s, c) for s, c in TEN], x0, 90)
    assert abs(state.x[0] - limit) < 1e-9


def test_a_server_with_adam_reaches_the_same_point() -> None:
    """Its second moment decays with the changes, and tau alone is left below."""
    h = joint_local.JointLocal(**CLIENT, **SERVER, beta2=0.5, server="adam")  # type: ignore[arg-type]
    state = run(joint_local.step, h, [logcosh(s, c) for s, c in TEN], 2.0, 90)
    assert abs(state.x[0] - fixed_point(TEN, 1.0)) < 1e-9
    assert state.v[0] < 1e-9


@pytest.mark.parametrize("eps", [1e-6, 1e6])
def test_the_stabiliser_moves_the_limit(eps: float) -> None:
    """As eps falls the weighted median is left (the majority at -1), as it grows the optimum returns."""
    limit = fixed_point(TEN, eps)
    wanted = {1e-6: -1.0, 1e6: bisect(lambda x: sum(gradient(s, c)(x) for s, c in TEN))}[eps]
    assert abs(limit - wanted) < 1e-4
    h = fedadaadagrad.FedAdaAdagrad(**{**CLIENT, "eps": eps}, **SERVER)
    state = run(fedadaadagrad.step, h, [logcosh(s, c) for s, c in TEN], limit, 1)
    assert abs(state.x[0] - limit) < 1e-9


def test_two_clients_are_unbiased() -> None:
    """g_1 = -g_2 where f is stationary, so that the quotients cancel exactly: (a_1 c_1 + a_2 c_2) / (a_1 + a_2)."""
    a, c = (F(3), F(1)), (F(1), F(-2))
    x = np.array([(a[0] * c[0] + a[1] * c[1]) / sum(a)], dtype=object)
    clients = QuadraticClients(
        np.array(a, dtype=object).reshape(2, 1, 1),
        np.array([a_i * c_i for a_i, c_i in zip(a, c, strict=True)], dtype=object).reshape(2, 1),
    ).clients
    h = fedadaadagrad.FedAdaAdagrad(F(1, 8), F(1, 3), F(1), F(1, 2), F(1), F(1))  # type: ignore[arg-type]
    state = fedadaadagrad.init(h, x, Setup((1, 1), {"w": (1,)}))
    state, shown = fedadaadagrad.step(h, state, clients, Plan((0, 1), (1, 1), (1, 1)))
    assert list(shown["delta"]) == [0] and list(state.x) == list(x) == [F(1, 4)]
    floats = QuadraticClients(np.array(a, dtype=float).reshape(2, 1, 1), np.array([[3.0], [-2.0]])).clients
    far = fedadaadagrad.FedAdaAdagrad(1.0, 1 / 3, 16.0, 0.5, 1.0, 1.0)
    assert abs(run(fedadaadagrad.step, far, floats, 5.0, 200).x[0] - 0.25) < 1e-9


def test_what_is_sent_returns_the_limit_towards_the_optimum() -> None:
    """Clients divide by sqrt(v + g^2) + eps, v being what the server has at last: larger v, smaller bias."""
    limits = []
    for v0, eta in ((0.01, 8.0), (1.0, 16.0), (100.0, 600.0)):
        h = joint_direct.JointDirect(**{**CLIENT, **SERVER, "v0": v0, "eps": 0.5, "eta": eta})
        state = run(joint_direct.step, h, [logcosh(s, c) for s, c in TEN], 2.0, 120)
        v = float(state.v[0])
        assert v > v0

        def moved(x: float, v: float = v) -> float:
            g = [gradient(s, c)(x) for s, c in TEN]
            return sum(g_i / (math.sqrt(v + g_i * g_i) + 0.5) for g_i in g)

        limits.append(bisect(moved))
        assert abs(state.x[0] - limits[-1]) < 1e-8
    assert fixed_point(TEN, 0.5) < limits[0] < limits[1] < limits[2] < 0.09487


@pytest.mark.parametrize("z", [1, 2])
def test_several_steps_have_a_limit_of_their_own(z: int) -> None:
    """With K = 2 a round rests where the sums of two steps cancel; a delay moves that point."""
    eta_l, eps = 0.25, 0.5

    def change(s: float, c: float, x: float) -> float:
        g = gradient(s, c)(x)
        first = quotient(g, eps)
        g_2 = gradient(s, c)(x - eta_l * first)
        below = math.hypot(g, g_2) if z == 1 else abs(g)
        return first + g_2 / (below + eps)

    limit = bisect(lambda x: sum(change(s, c, x) for s, c in TEN))
    h = fedadaadagrad.FedAdaAdagrad(eta_l=eta_l, eps=eps, **{**SERVER, "eta": 32.0}, z=z)
    state = run(fedadaadagrad.step, h, [logcosh(s, c) for s, c in TEN], 1.0, 90, steps=2)
    assert abs(state.x[0] - limit) < 1e-9
    assert abs(limit - fixed_point(TEN, eps)) > 1e-3


def test_weights_choose_the_limit() -> None:
    """The weighted quotients cancel; weight 9 for the lone client balances the nine exactly where f is symmetric."""
    weights = (9.0, *[1.0] * 9)
    equal = [(0.1, 1.0)] + [(0.1, -1.0)] * 9
    h = fedadaadagrad.FedAdaAdagrad(**CLIENT, **SERVER)
    clients = [logcosh(s, c) for s, c in equal]
    state = run(fedadaadagrad.step, h, clients, 2.0, 90, scales=weights)
    assert abs(state.x[0]) < 1e-9


def test_a_blend_of_strategies_has_a_limit_of_its_own() -> None:
    """SGD moves a client by g, AdaGrad by g / (|g| + eps): at the limit w_1 g_1 = -w_2 times the quotient."""
    eps, w = 0.25, (2.0, 0.5)
    clients = [(1.0, 1.0), (1.0, -1.0)]

    def moved(x: float) -> float:
        g = [gradient(s, c)(x) for s, c in clients]
        return w[0] * g[0] + w[1] * quotient(g[1], eps)

    h = fedblended.FedBlended(eta_l=0.25, eps=eps, **SERVER, **DECAYS)
    for other in ("adagrad", "adam", "sm3-adagrad", "sm3-adam"):
        oracles = [logcosh(s, c) for s, c in clients]
        state = run(fedblended.step, h, oracles, -2.0, 120, strategies=("sgd", other), scales=w)
        assert abs(state.x[0] - bisect(moved)) < 1e-9


def test_the_dead_zone_may_hold_the_model_anywhere() -> None:
    """Where all quotients are below eps_s nothing moves: not the optimum, not the limit without a dead zone."""
    h = fedadaadagrad.FedAdaAdagrad(**CLIENT, **SERVER, eps_s=0.5)
    state = run(fedadaadagrad.step, h, [logcosh(s, c) for s, c in TEN], 1.5, 5)
    assert state.x[0] == 1.5


def test_normalised_steps_find_the_geometric_median() -> None:
    """With eps = 0 unit vectors cancel: for (-1, 0), (1, 0), (0, 2) at (0, 1 / sqrt(3)), at 120 degrees each."""
    points = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    clients = QuadraticClients(np.tile(np.eye(2), (3, 1, 1)), points).clients
    h = normalised.FedAvgNormalised(eta_l=0.25, eps=0.0)
    state = run(normalised.step, h, clients, [0.7, 0.3], 400)
    assert np.abs(state.x - [0.0, 1 / math.sqrt(3)]).max() < 1e-12


def test_normalised_steps_on_bounded_gradients() -> None:
    """In one dimension they are the quotients of AdaGrad's first step, and so is their limit."""
    h = normalised.FedAvgNormalised(eta_l=8.0, eps=1.0)
    clients = [logcosh(s, c) for s, c in TEN]
    state = run(normalised.step, h, clients, 2.0, 90)
    assert abs(state.x[0] - fixed_point(TEN, 1.0)) < 1e-12


@pytest.mark.parametrize("server", ["average", "adagrad", "adam"])
def test_clipping_is_huber_s_estimator(server: Any) -> None:
    """Minima at 0, 1 and 10, clip at 2 eta_l: x + (x - 1) = 2 at the limit, x = 3/2, instead of the mean 11/3."""
    clients = QuadraticClients(np.ones((3, 1, 1)), np.array([[0.0], [1.0], [10.0]])).clients
    more: dict[str, Any] = {"average": {}, "adagrad": {"tau": 1.0, "v0": 1.0, "beta1": 0.5}}
    more["adam"] = {**more["adagrad"], "beta2": 0.5}
    h = private.DpFedAvg(eta_l=0.25, eta=2.0, clip_norm=0.5, sigma=0.0, server=server, **more[server])
    state = run(private.step, h, clients, 4.0, 400, noise=(0.0,))
    assert abs(state.x[0] - 1.5) < 1e-9


def test_clipping_on_bounded_gradients() -> None:
    """The lone client's gradient is cut to 0.1, the largest of the others: the majority's side wins."""
    h = private.DpFedAvg(eta_l=0.5, eta=1.0, clip_norm=0.05, sigma=0.0)
    limit = bisect(lambda x: sum(max(-0.1, min(0.1, gradient(s, c)(x))) for s, c in TEN))
    state = run(private.step, h, [logcosh(s, c) for s, c in TEN], 2.0, 800, noise=(0.0,))
    assert abs(state.x[0] - limit) < 1e-9
    assert limit < -0.8
