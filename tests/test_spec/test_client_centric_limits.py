"""Every late algorithm reaches its own closed-form limit, whatever the delays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction as F
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from test_spec.late_clients import STEPS, TWO, end, full, pulls, root_of

from fedspec.arith import Array
from fedspec.linear import eye, solve
from fedspec.plan import Arrival, Oracle

pytestmark = [pytest.mark.long, pytest.mark.table(1)]

SERVERS: dict[str, dict[str, Any]] = {
    "cc-fedavg": {},
    "cc-fedsgd": {"eta": 2.0},
    "cc-fedavgm": {"eta": 1.0, "beta": 0.8},
    "cc-fedadagrad": {"eta": 0.5, "beta1": 0.5, "tau": 0.01},
    "cc-fedadam": {"eta": 0.02, "beta1": 0.8, "beta2": 0.9, "tau": 0.02},
    "cc-fedams": {"eta": 0.15, "beta1": 0.8, "beta2": 0.9, "eps": 0.02, "v0": 0.0001},
}
"""Rates with which a few hundred buffers suffice."""


def weighted(normalised: bool) -> F:
    """x_inf = sum w_i c_i / sum w_i, w_i = (1 - (1 - eta_l h_i)^K_i) / K_i, or without / K_i."""
    w = [(1 - F(9, 10) ** K) / (K if normalised else 1) for K in STEPS]
    return (-w[0] + 2 * w[1]) / (w[0] + w[1])


def test_the_two_limits_are_the_known_numbers() -> None:
    assert float(weighted(True)) == pytest.approx(0.38893850832664, abs=5e-15)
    assert float(weighted(False)) == pytest.approx(1.04922353255158, abs=5e-15)


@pytest.mark.long
@pytest.mark.parametrize("delays", [(0, 0), (1, 2)], ids=str)
@pytest.mark.parametrize("name", SERVERS)
def test_every_server_reaches_the_weighted_point(name: str, delays: tuple[int, int]) -> None:
    """Whatever the preconditioner, the momentum and the delays: where the mean change is zero."""
    plan = full(500, [Arrival(i, K, delay) for i, (K, delay) in enumerate(zip(STEPS, delays, strict=True))])
    h = {"buffer": 2, "eta_l": 0.1, **SERVERS[name]}
    assert end(name, h, np.array([0.0]), TWO, plan)[0] == pytest.approx(float(weighted(True)), abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("name", [*SERVERS, "fedbuff"])
def test_unnormalised_changes_favour_the_client_with_more_steps(name: str) -> None:
    plan = full(500, [Arrival(i, K, i) for i, K in enumerate(STEPS)])
    own = {"eta": 0.5} if name == "fedbuff" else {**SERVERS[name], "normalise": "none"}
    h = {"buffer": 2, "eta_l": 0.1, **own}
    assert end(name, h, np.array([0.0]), TWO, plan)[0] == pytest.approx(float(weighted(False)), abs=1e-12)


def test_normalisation_leaves_a_bias_of_order_eta_l() -> None:
    """As eta_l falls, the normalised limit comes as near to the optimum, 1/2; the other to sum K_i c_i / sum K_i."""
    gaps: dict[str, list[float]] = {"per-step": [], "none": []}
    for eta_l in (0.02, 0.01, 0.005):
        plan = full(150, [Arrival(i, K, 0) for i, K in enumerate(STEPS)])
        for normalise, gap in gaps.items():
            rate = 0.2 / (eta_l * (5 if normalise == "none" else 1))
            h = {"buffer": 2, "eta_l": eta_l, "eta": rate, "normalise": normalise}
            gap.append(end("cc-fedsgd", h, np.array([0.0]), TWO, plan)[0] - (0.5 if normalise == "per-step" else 8 / 7))
    for gap in gaps.values():
        assert [a / b for a, b in pairwise(gap)] == pytest.approx([2, 2], abs=0.05)


def matrices() -> tuple[list[Array], list[Array]]:
    """Three clients in three dimensions, curvatures between 1/4 and 3, whose matrices do not commute."""
    A = [np.array(rows) for rows in ([[1, 0, 1], [0, 1, 0], [1, 1, 2]], [[2, 1, 0], [0, 1, 0], [1, 0, 0]], np.eye(3))]
    H = [np.array([[F(int(v), 4) for v in row] for row in (a @ a.T + np.eye(3)).astype(int)], dtype=object) for a in A]
    c = [np.array([F(v) for v in row], dtype=object) for row in ((1, -2, 0), (0, 3, 1), (-1, 1, 4))]
    return H, c


def matrix_limit(plan: Sequence[tuple[int, int]], eta_l: F) -> Array:
    """(sum W_i)^(-1) sum W_i c_i, W_i = (I - (I - eta_l H_i)^K_i) / K_i, over the places of a buffer."""
    H, c = matrices()
    W = []
    for i, K in plan:
        power = one = eye(H[i])
        for _ in range(K):
            power = power @ (one - eta_l * H[i])
        W.append((one - power) / K)
    point = solve(sum(W), sum(W_i @ c[i] for W_i, (i, _) in zip(W, plan, strict=True)))
    return point.astype(float)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("places", [((0, 1), (1, 3), (2, 4)), ((0, 2), (1, 3), (1, 3), (2, 1))], ids=["once", "twice"])
def test_the_limit_in_three_dimensions(places: tuple[tuple[int, int], ...]) -> None:
    """A client that fills two places of every buffer has twice the weight."""
    H, c = matrices()
    floats = [(H_i.astype(float), c_i.astype(float)) for H_i, c_i in zip(H, c, strict=True)]
    clients: list[Oracle] = [lambda k, x, H=H_i, c=c_i: H @ (x - c) for H_i, c_i in floats]
    plan = full(1500, [Arrival(i, K, j % 3) for j, (i, K) in enumerate(places)])
    h = {"buffer": len(places), "eta_l": 1 / 8, "eta": 1.0}
    got = end("cc-fedsgd", h, np.zeros(3), clients, plan)
    np.testing.assert_allclose(got, matrix_limit(places, F(1, 8)), atol=1e-12)


def slope(a: float, c: float) -> Oracle:
    """The gradient of the pseudo-Huber loss a (sqrt(1 + (x - c)^2) - 1), which is bounded by a."""
    return lambda k, x: a * (x - c) / np.sqrt(1 + (x - c) ** 2)


# 4 (3/4) / sqrt(1 + 9/16) = 3 (4/3) / sqrt(1 + 16/9): the gradients cancel at 0.
HUBER = [slope(0.4, -3 / 4), slope(0.3, 4 / 3)]


@pytest.mark.parametrize("name", [*SERVERS, "fedbuff"])
def test_bounded_gradients_cancel_at_zero(name: str) -> None:
    """One step each, of late gradients that are bounded, as the theorem asks: the limit is the optimum, 0."""
    h = {"buffer": 2, "eta_l": 0.5, **SERVERS.get(name, {"eta": 1.0})}
    got = end(name, h, np.array([3.0]), HUBER, full(600, [Arrival(0, 1, 1), Arrival(1, 1, 2)]))
    assert got[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("name", SERVERS)
def test_bounded_gradients_and_uneven_steps(name: str) -> None:
    """With K = 2 and 5 the limit is where the clients' means of gradients along their own paths cancel."""

    def pull(x: float) -> float:
        total = 0.0
        for (a, c), K in zip(((0.4, -0.75), (0.3, 4 / 3)), STEPS, strict=True):
            y = x
            for _ in range(K):
                y -= 0.25 * a * (y - c) / math.hypot(1, y - c)
            total += (y - x) / K
        return total

    h = {"buffer": 2, "eta_l": 0.25, **SERVERS[name]}
    got = end(name, h, np.array([3.0]), HUBER, full(1200, [Arrival(i, K, 2 * i) for i, K in enumerate(STEPS)]))
    want = root_of(pull, -1.0, 2.0)
    assert abs(want) > 0.005
    assert got[0] == pytest.approx(want, abs=1e-11)


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_fedasync_ends_in_the_cycle_of_its_clients(mu: float) -> None:
    """Two clients in turn: x -> (1 - a) x + a x_i is affine, and the cycle the fixed point of both maps composed."""
    eta_l, a, places = F(1, 8), F(1, 4), ((F(1), F(-1), 2), (F(2), F(2), 5))

    def affine(h: F, c: F, K: int) -> tuple[F, F]:
        # K proximal steps go (1 - (1 - eta_l (h + mu))^K) h / (h + mu) of the way to c.
        way = (1 - (1 - eta_l * (h + F(mu))) ** K) * h / (h + F(mu))
        return 1 - a * way, a * way * c

    (A1, B1), (A2, B2) = (affine(*place) for place in places)
    want = (A2 * B1 + B2) / (1 - A1 * A2)
    clients = pulls([float(h) for h, _, _ in places], [float(c) for _, c, _ in places])
    plan = [Arrival(k % 2, places[k % 2][2], 0) for k in range(400)]
    got = end("fedasync", {"eta_l": 0.125, "mu": mu, "mix": 0.25}, np.array([9.0]), clients, plan)
    assert got[0] == pytest.approx(float(want), abs=1e-13)


@pytest.mark.parametrize("kind", ["constant", "polynomial", "hinge"])
def test_fedasync_finds_the_minimum_that_its_clients_share(kind: str) -> None:
    """Smooth clients with bounded gradients and one minimiser, as its theorem asks, every update two versions late."""
    clients = [slope(0.4, 1.5), slope(0.9, 1.5)]
    plan = [Arrival(k % 2, 1 + k % 3, min(k, 2)) for k in range(1200)]
    late: dict[str, Any] = {"polynomial": {"twice_a": 1}, "hinge": {"hinge_a": 1.0, "hinge_b": 0}}
    h = {"eta_l": 0.25, "mu": 0.25, "mix": 0.5, "staleness": kind, **late.get(kind, {})}
    assert end("fedasync", h, np.array([-3.0]), clients, plan)[0] == pytest.approx(1.5, abs=1e-12)


def test_clients_that_never_come_do_not_move_the_limit() -> None:
    """Client 1 never takes part: the model ends at the other's minimum, and f keeps the gradient of the absent one."""
    plan = full(400, [Arrival(1, 3, 1)])
    got = end("cc-fedsgd", {"buffer": 1, "eta_l": 0.1, "eta": 1.0}, np.array([0.0]), pulls((2, 2), (-3, 3)), plan)
    assert got[0] == pytest.approx(3, abs=1e-12)
    share = F(1, 4)  # one update in four is client 0's: x = (1 - 2 share) 3
    plan = full(600, [Arrival(i, 3, 1) for i in (1, 0, 1, 1)])
    got = end("cc-fedsgd", {"buffer": 4, "eta_l": 0.1, "eta": 1.0}, np.array([0.0]), pulls((2, 2), (-3, 3)), plan)
    assert got[0] == pytest.approx(float((1 - 2 * share) * 3), abs=1e-12)
