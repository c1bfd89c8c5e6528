"""Every algorithm with a server ends at its own closed-form limit, whatever the server's rule does on the way there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.synchronous import run_round
from fedspec.arith import Array
from fedspec.catalogue import CATALOGUE, Method, Program
from fedspec.plan import Oracle, Plan, Setup

pytestmark = [pytest.mark.long, pytest.mark.table(1)]

A, B, STEPS, EXAMPLES = (0.5, 2.0, 1.0), (3.0, -1.0, 0.5), (4, 1, 2), (1.0, 2.0, 5.0)
"""Curvature, minimiser, local steps and examples of three clients in one dimension."""

RATE = 0.2
MOMENTS = {"beta1": 0.5, "beta2": 0.75}
OUTSIDE = {**MOMENTS, "eta": 0.25, "tau": 0.25, "v0": 0.0625}
INSIDE = {**MOMENTS, "eta": 0.25, "eps": 0.0625}

SERVERS: dict[str, dict[str, float]] = {
    "fedavg": {"eta": 1.0},
    "fedavgm": {"eta": 0.5, "beta": 0.5},
    "fedadagrad": {"beta1": 0.5, "eta": 2.0, "tau": 0.25, "v0": 0.0625},
    "fedadam": OUTSIDE,
    "fedyogi": OUTSIDE,
    "fedamsgrad": INSIDE,
    "fedams": INSIDE,
    "fedams-code": {**INSIDE, "v_hat0": 0.25},
}


def quadratics() -> list[Oracle]:
    return [lambda k, x, a=a, b=b: a * (x - b) for a, b in zip(A, B, strict=True)]


def surrogate(p: Array) -> float:
    """Where sum_i p_i (1 - (1 - eta_l a_i)^tau_i) (b_i - x) = 0: each client's change in closed form."""
    pull = p * np.array([1 - (1 - RATE * a) ** tau for a, tau in zip(A, STEPS, strict=True)])
    return float(pull @ np.array(B) / pull.sum())


def rounds(name: str, numbers: dict[str, Any], clients: list[Oracle], steps: tuple[int, ...], count: int) -> float:
    """The model after so many rounds of everybody, from 2."""
    run = CATALOGUE[name].run
    plan = Plan(tuple(range(len(clients))), steps, EXAMPLES[: len(clients)])
    x = np.array([2.0])
    if isinstance(run, Method):
        h = run.hyper(**numbers)
        state = run.init(h, x)
        for _ in range(count):
            state = run_round(h, state, clients, plan, local=run.local, norm=run.norm, server=run.server).state
        return float(state[0] if isinstance(state, np.ndarray) else state.x[0])
    assert isinstance(run, Program)
    h = run.hyper(**numbers)
    state = run.init(h, x, Setup(plan.examples, {"w": (1,)}))
    for _ in range(count):
        state, _ = run.step(h, state, clients, plan)
    return float(state.x[0])


@pytest.mark.long
@pytest.mark.parametrize("weights", ["examples", "uniform"])
@pytest.mark.parametrize("name", SERVERS)
def test_the_server_does_not_move_the_limit(name: str, weights: str) -> None:
    """Unequal steps: the limit is that of the surrogate, not the optimum, for every server."""
    p = np.array(EXAMPLES if weights == "examples" else (1.0, 1.0, 1.0))
    want = surrogate(p / p.sum())
    optimum = float(p * A @ np.array(B) / (p @ np.array(A)))
    got = rounds(name, {**SERVERS[name], "eta_l": RATE, "weights": weights}, quadratics(), STEPS, 800)
    assert abs(got - want) < 1e-9 < abs(optimum - want)


def bounded(scales: tuple[float, ...], centres: tuple[float, ...]) -> list[Oracle]:
    """log cosh: gradients of at most the scale."""
    return [lambda k, x, s=s, c=c: s * np.tanh(x - c) for s, c in zip(scales, centres, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize("name", SERVERS)
def test_bounded_gradients(name: str) -> None:
    """Two clients of one shape about 3 and -2: the midpoint, for every server."""
    numbers = {**SERVERS[name], "eta_l": RATE, "weights": "uniform"}
    assert abs(rounds(name, numbers, bounded((1.0, 1.0), (3.0, -2.0)), (3, 3), 2000) - 0.5) < 1e-8


ADAPTIVE = {"eta_l": 0.1, "eps": 0.25, "eta": 0.5, "beta1": 0.5, "tau": 0.25, "v0": 0.0625}


@pytest.mark.long
@pytest.mark.parametrize("client", ["adagrad", "adam"])
@pytest.mark.parametrize("server", ["adagrad", "adam"])
def test_a_sent_second_moment_leaves_two_clients_at_their_optimum(server: str, client: str) -> None:
    """Both divide by the same growing function of |g|: the steps cancel where g_1 = -g_2, the optimum of the mean."""
    more: dict[str, Any] = {"server": server, "client": client}
    if server == "adam":
        more["beta2"] = 0.75
    if client == "adam":
        more |= {"beta1_l": 0.5, "beta2_l": 0.5}
    got = rounds("joint-direct", {**ADAPTIVE, **more}, bounded((1.0, 2.0), (1.0, -1.0)), (1, 1), 2000)
    gradient = np.tanh(got - 1.0) + 2 * np.tanh(got + 1.0)
    assert abs(gradient) < 1e-6


def test_clipped_clients_end_where_plain_ones_do() -> None:
    """No noise, and a clipping norm that binds far away only."""
    numbers: dict[str, Any] = {"eta_l": RATE, "eta": 1.0, "clip_norm": 0.75, "sigma": 0.0}
    run = CATALOGUE["dp-fedavg"].run
    assert isinstance(run, Program)
    h = run.hyper(**numbers)
    state = run.init(h, np.array([40.0]), Setup(EXAMPLES, {"w": (1,)}))
    for _ in range(400):
        state, _ = run.step(h, state, quadratics(), Plan((0, 1, 2), STEPS, EXAMPLES, noise=(0.0,)))
    want = surrogate(np.full(3, 1 / 3))
    assert abs(float(state.x[0]) - want) > 1e-3, "the clients' changes at the limit are clipped: it moves"
    h = run.hyper(**{**numbers, "clip_norm": 4.0})
    for _ in range(400):
        state, _ = run.step(h, state, quadratics(), Plan((0, 1, 2), STEPS, EXAMPLES, noise=(0.0,)))
    assert abs(float(state.x[0]) - want) < 1e-9


def test_normalised_clients_balance_their_directions() -> None:
    """sum_i g_i / (|g_i| + eps) = 0, found by bisection: three clients are not at the optimum."""
    eps, clients = 0.5, quadratics()

    def balance(x: float) -> float:
        g = [float(f(0, np.array([x]))[0]) for f in clients]
        return sum(v / (abs(v) + eps) for v in g)

    low, high = -5.0, 5.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if balance(middle) > 0 else (middle, high)
    got = rounds("fedavg-normalised", {"eta_l": 0.1, "eps": eps}, clients, (1, 1, 1), 2000)
    optimum = float(np.array(A) @ np.array(B) / sum(A))
    assert abs(got - low) < 1e-9 and abs(got - optimum) > 0.1
