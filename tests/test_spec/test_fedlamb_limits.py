"""Where Fed-LAMB and its baselines come to rest: limits in closed form, or from a second iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms import fedlamb, fedsgd, local_ams
from fedspec.algorithms.fedlamb import FedLamb
from fedspec.algorithms.fedsgd import FedSgd
from fedspec.algorithms.local_ams import FedAms
from fedspec.arith import Array
from fedspec.plan import Oracle, Plan, Setup

pytestmark = [pytest.mark.long, pytest.mark.table(1)]

A = (1.0, 2.0, 0.5)
B = np.array([[1.0, -2.0], [-1.0, 0.5], [4.0, 3.0]])


def quadratics(a: Sequence[float] = A, b: Array = B) -> list[Oracle]:
    """f_i(x) = a_i ||x - b_i||^2 / 2."""
    return [lambda k, x, a_i=a_i, b_i=b_i: a_i * (x - b_i) for a_i, b_i in zip(a, b, strict=True)]


def pseudo_huber(a: Sequence[float], b: Array) -> list[Oracle]:
    """f_i(x) = a_i sqrt(1 + ||x - b_i||^2): gradients along x - b_i, shorter than a_i."""
    return [
        lambda k, x, a_i=a_i, b_i=b_i: a_i * (x - b_i) / np.sqrt(1 + (x - b_i) @ (x - b_i))
        for a_i, b_i in zip(a, b, strict=True)
    ]


def settle(
    program: Any,
    h: Any,
    clients: Sequence[Oracle],
    x: Array,
    rounds: int,
    steps: int = 1,
    sizes: Sequence[int] = (),
    rate: Callable[[int], float] | None = None,
) -> Any:
    """The state after many rounds of everybody, with a rate of its own in each where one is given."""
    n, shapes = len(clients), {f"l{k}": (size,) for k, size in enumerate(sizes or [len(x)])}
    state, plan = program.init(h, x, Setup((1,) * n, shapes)), Plan(tuple(range(n)), (steps,) * n, (1,) * n)
    for r in range(1, rounds + 1):
        state, _ = program.step(replace(h, eta_l=rate(r)) if rate else h, state, clients, plan)
    return state


def ams(**changes: Any) -> FedAms:
    return FedAms(**{"eta_l": 0.125, "beta1": 0.0, "beta2": 0.875, "eps": 0.0625, "v0": 1.0, **changes})


def lamb(**changes: Any) -> FedLamb:
    plain = {"eta_l": 0.0625, "beta1": 0.0, "beta2": 0.875, "eps": 0.0, "v0": 0.25, "phi": "constant"}
    return FedLamb(**{**plain, **changes})


def weighted(w: Array) -> Array:
    """The mean of the optima with weights w[i], or w[i, j]."""
    w = np.broadcast_to(w if w.ndim == 2 else w[:, None], B.shape)
    mean: Array = (w * B).sum(0) / w.sum(0)
    return mean


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_fed_sgd_weighs_optima_by_how_far_clients_get(steps: int) -> None:
    alpha = 0.25
    state = settle(fedsgd, FedSgd(eta_l=alpha), quadratics(), np.zeros(2), 120, steps)
    w = 1 - (1 - alpha * np.array(A)) ** steps
    np.testing.assert_allclose(state.x, weighted(w), rtol=1e-12)
    if steps == 1:
        np.testing.assert_allclose(state.x, weighted(np.array(A)), rtol=1e-12)


@pytest.mark.parametrize("steps", [2, 5])
def test_fed_ams_weighs_them_by_coordinate(steps: int) -> None:
    h = ams()
    state = settle(local_ams, h, quadratics(), np.zeros(2), 200, steps)
    D = 1 / (np.sqrt(state.v_hat) + h.eps)
    assert D[0] != D[1]
    w = 1 - (1 - h.eta_l * np.array(A)[:, None] * D) ** steps
    np.testing.assert_allclose(state.x, weighted(w), rtol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("beta1", [0.0, 0.9])
@pytest.mark.parametrize("bias_correction", ["none", "moments"])
def test_fed_ams_with_single_steps_reaches_the_optimum(beta1: float, bias_correction: str) -> None:
    h = ams(beta1=beta1, bias_correction=bias_correction)
    state = settle(local_ams, h, quadratics(), np.zeros(2), 500)
    np.testing.assert_allclose(state.x, weighted(np.array(A)), rtol=1e-10)


@pytest.mark.parametrize("program", [fedsgd, local_ams], ids=["fed-sgd", "fed-ams"])
def test_bounded_gradients_with_single_steps(program: Any) -> None:
    """The residuals of the optimum have gradients 1/2, 1/4, -3/4 of their bounds, whose sum is 0."""
    s, best = np.array([0.5, 0.25, -0.75]), 1.5
    clients = pseudo_huber((1, 1, 1), (best - s / np.sqrt(1 - s**2))[:, None])
    h = FedSgd(eta_l=0.5) if program is fedsgd else ams(eta_l=0.5)
    np.testing.assert_allclose(settle(program, h, clients, np.zeros(1), 400).x, [best], rtol=1e-12)


def star(radii: Sequence[float], centre: Array) -> Array:
    """Points at angles 0, 120 and 240 degrees, at any distances: their geometric median is the centre."""
    turn = 2 * np.pi * np.arange(3) / 3
    return centre + np.array(radii)[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)


@pytest.mark.long
@pytest.mark.parametrize("phi", ["identity", "constant", "clip"])
@pytest.mark.parametrize("beta1", [0.0, 0.75])
def test_fed_lamb_reaches_the_geometric_median_under_bounded_gradients(phi: str, beta1: float) -> None:
    """v_0 = 4 bounds every square, so the metric is Euclid's; the a_i, and the mean of the b_i, play no part."""
    centre = np.array([2.0, -1.5])
    b = star((1.0, 3.0, 6.0), centre)
    clip = {"phi_m": 0.5, "phi_M": 1.0} if phi == "clip" else {}
    h = lamb(eta_l=0.5, phi=phi, beta1=beta1, v0=4.0, **clip)
    state = settle(fedlamb, h, pseudo_huber((2.0, 1.0, 0.25), b), np.array([1.0, 1.0]), 500)
    assert (state.v_hat == 4).all()
    np.testing.assert_allclose(state.x, centre, atol=1e-9)
    assert np.linalg.norm(b.mean(0) - centre) > 0.5


def weiszfeld(points: Array, rounds: int = 2000) -> Array:
    """The geometric median: again and again the mean with one over the distances as weights."""
    x: Array = points.mean(0)
    for _ in range(rounds):
        w = 1 / np.linalg.norm(points - x, axis=1)
        x = w @ points / w.sum()
    return x


@pytest.mark.parametrize("beta1", [0.0, 0.75])
def test_fed_lamb_takes_the_median_in_the_metric_of_its_denominator(beta1: float) -> None:
    b = np.array([[1.0, -2.0], [-1.0, 0.5], [2.0, 8.0]])
    h = lamb(beta1=beta1, eta_l=0.5)
    state = settle(fedlamb, h, quadratics((1.0, 2.0, 0.5), b), np.zeros(2), 500)
    D = 1 / np.sqrt(state.v_hat)
    assert D.max() > 1.5 * D.min()
    np.testing.assert_allclose(state.x, weiszfeld(b * D) / D, atol=1e-8)
    assert np.linalg.norm(state.x - weiszfeld(b)) > 0.01


def test_every_layer_takes_its_own_median() -> None:
    centres = np.array([[2.0, -1.5], [-1.0, 3.0]])
    b = np.concatenate([star((1, 3, 6), centres[0]), star((4, 1, 2), centres[1])], axis=1)
    clients = [lambda k, x, b_i=b_i: x - b_i for b_i in b]
    h = lamb(eta_l=0.5, v0=1000.0)
    state = settle(fedlamb, h, clients, np.zeros(4), 500, sizes=(2, 2))
    np.testing.assert_allclose(state.x, centres.reshape(-1), atol=1e-9)
    whole = settle(fedlamb, h, clients, np.zeros(4), 500)
    np.testing.assert_allclose(whole.x, weiszfeld(b), atol=1e-8)
    assert np.linalg.norm(whole.x - state.x) > 0.1


@pytest.mark.long
@pytest.mark.parametrize("steps", [1, 3])
def test_layers_of_one_coordinate_take_the_median_of_each(steps: int) -> None:
    """Sign steps do not shrink: with rates 1/r^0.7 the last one bounds how far the median is."""
    b = np.array([[1.0, -2.0], [-1.0, 5.0], [4.0, 3.0]])
    clients = pseudo_huber((1.0, 5.0, 0.2), b)
    state = settle(fedlamb, lamb(), clients, np.zeros(2), 400, steps, (1, 1), rate=lambda r: r**-0.7)
    assert np.abs(state.x - np.median(b, axis=0)).max() <= steps * 400**-0.7
    assert np.abs(state.x - b.mean(0)).max() > 0.3


def test_a_constant_rate_leaves_an_oscillation_of_its_length() -> None:
    """One client, one coordinate: within eta of the optimum, and never nearer than the grid of steps allows."""
    h, optimum = lamb(eta_l=0.125), np.array([[0.3125]])
    for rounds in (100, 101, 130):
        x = settle(fedlamb, h, quadratics((3.0,), optimum), np.array([10.0]), rounds).x
        assert abs(x[0] - 0.3125) == 0.0625


@pytest.mark.long
def test_skewed_noise_moves_the_limit_of_sign_steps() -> None:
    """Noise 4, -1, -1, -1, -1 in turn, of mean 0: steps rest where it has median 0, at x = 1, not at the optimum 0."""
    noise = (4.0, -1.0, -1.0, -1.0, -1.0)
    clients: list[Oracle] = [lambda k, x, c=c: x + c for c in noise]
    x = settle(fedlamb, lamb(), clients, np.zeros(1), 300, rate=lambda r: r**-0.7).x
    assert abs(x[0] - 1) <= 300**-0.7
    x = settle(local_ams, ams(), clients, np.ones(1), 600).x
    assert abs(x[0]) < 1e-9
