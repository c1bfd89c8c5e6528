"""Statements of the client-centric paper that no law takes up: lengths of steps, the sequence of its proof, samples."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from test_spec.late_clients import end, full, pulls, trace

from fedspec.arith import Array
from fedspec.client.sgd import sgd
from fedspec.mixing.arrivals import local_change
from fedspec.plan import Arrival, Oracle

TINY = 1e-12
ADAPTIVE: dict[str, dict[str, Any]] = {
    "cc-fedadagrad": {"beta1": 0.75, "tau": 0.5},
    "cc-fedadam": {"beta1": 0.75, "beta2": 0.9, "tau": 0.5},
    "cc-fedams": {"beta1": 0.75, "beta2": 0.9, "eps": 0.5},
}
SECOND = {"cc-fedadagrad": "v", "cc-fedadam": "v", "cc-fedams": "v_hat"}


def slope(a: float, c: Array) -> Oracle:
    """The gradient of a (sqrt(1 + |x - c|^2) - 1), whose length is below a."""
    return lambda k, x: a * (x - c) / math.sqrt(1 + (x - c) @ (x - c))


BOUNDED = [slope(2.0, np.array([3.0, 0.0])), slope(1.0, np.array([-1.0, 2.0])), slope(0.5, np.array([0.0, -4.0]))]
PLAN = full(12, [Arrival(0, 3, 1), Arrival(2, 1, 0), Arrival(1, 4, 2)])


def run(name: str, **h: Any) -> tuple[list[Array], list[dict[str, Any]]]:
    """The models at the server's steps, the first before any, and what is shown at them."""
    x = np.array([1.0, -1.0])
    rounds = list(trace(name, {"buffer": 3, **h}, x, BOUNDED, PLAN))[2::3]
    return [x, *(at for at, _ in rounds)], [shown for _, shown in rounds]


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("v0", [0.0, 0.04])
def test_lengths_of_changes_and_steps(name: str, v0: float) -> None:
    """|Delta_i|, |Delta| <= eta_l G, and |x_(t+1) - x_t| <= eta eta_l G / (sqrt(v_0) + eps); here G = 2."""
    h = {"eta_l": 0.25, "eta": 0.5, "v0": v0, **ADAPTIVE[name]}
    xs, shown = run(name, **h)
    small = h.get("eps", h.get("tau"))
    for (before, after), values in zip(pairwise(xs), shown, strict=True):
        assert np.linalg.norm(values["delta"]) <= 0.25 * 2 + TINY
        assert np.linalg.norm(after - before) <= 0.5 * 0.25 * 2 / (math.sqrt(v0) + small) + TINY
    for i, client in enumerate(BOUNDED):
        x = start = np.array([0.5, 0.5])
        for k in range(5):
            x = sgd(x, client(k, x), eta_l=0.25)
            assert np.linalg.norm(x - start) <= (k + 1) * 0.25 * (2, 1, 0.5)[i] + TINY
            assert np.linalg.norm(local_change(x, start, steps=k + 1)) <= 0.25 * (2, 1, 0.5)[i] + TINY


def test_adagrad_is_momentum_up_to_a_factor_of_two_in_the_regime_of_the_theorem() -> None:
    """eta_l <= eps / (sqrt(T) G), v_0 = 0: eta |m| / (2 eps) <= |step| <= eta |m| / eps; v <= t (eta_l G)^2."""
    eps, T = 0.5, 12
    eta_l = eps / (math.sqrt(T) * 2)
    xs, shown = run("cc-fedadagrad", eta_l=eta_l, eta=0.75, beta1=0.75, tau=eps)
    for t, ((before, after), values) in enumerate(zip(pairwise(xs), shown, strict=True), 1):
        moved, m = np.abs(after - before), np.abs(values["m"])
        assert (moved >= 0.75 * m / (2 * eps) - TINY).all() and (moved <= 0.75 * m / eps + TINY).all()
        assert values["v"].sum() <= t * (eta_l * 2) ** 2 + TINY
    assert len(shown) == T


@pytest.mark.parametrize("name", ["cc-fedadagrad", "cc-fedams"])
def test_roots_rise_by_the_change_at_most_and_preconditioners_telescope(name: str) -> None:
    """sqrt(v_hat) by |Delta|, or sqrt(1 - gamma) |Delta|; a = 1 / (sqrt(v_hat) + eps) falls, from a_0 to a_T in all."""
    _, shown = run(name, eta_l=0.25, eta=0.5, v0=0.01, **ADAPTIVE[name])
    v_hat = [np.full(2, 0.01), *(values[SECOND[name]] for values in shown)]
    most = math.sqrt(1 - 0.9) if name == "cc-fedams" else 1.0
    for (a, b), values in zip(pairwise(v_hat), shown, strict=True):
        rise = np.sqrt(b) - np.sqrt(a)
        assert (rise >= 0).all() and (rise <= most * np.abs(values["delta"]) + TINY).all()
    a = [1 / (np.sqrt(v) + 0.5) for v in v_hat]
    falls = np.array([p - q for p, q in pairwise(a)])
    assert (falls >= 0).all() and falls.sum() == pytest.approx((a[0] - a[-1]).sum())
    assert (falls**2).sum() <= (a[0] ** 2 - a[-1] ** 2).sum() + TINY


@pytest.mark.parametrize("name", ADAPTIVE)
def test_the_auxiliary_sequence_of_the_proof(name: str) -> None:
    """z_t = x_t + C (x_t - x_(t-1)), C = beta / (1 - beta), moves by eta a_t Delta_t - eta C (a_(t-1) - a_t) m_(t-1).

    z_1 = x_1. Under a preconditioner that stays (no square above v_0) it takes steps eta a Delta.
    """
    for v0, eta_l in ((0.01, 0.25), (4.0, 2.0**-20)):
        xs, shown = run(name, eta_l=eta_l, eta=0.5, v0=v0, **ADAPTIVE[name])
        small = ADAPTIVE[name].get("eps", ADAPTIVE[name].get("tau"))
        xs, C = [xs[0], *xs], 0.75 / 0.25
        z = [b + C * (b - a) for a, b in pairwise(xs)]
        assert (z[0] == xs[0]).all()
        a = [1 / (np.sqrt(v) + small) for v in [np.full(2, v0), *(values[SECOND[name]] for values in shown)]]
        m = [np.zeros(2), *(values["m"] for values in shown)]
        for t, values in enumerate(shown):
            rest = 0.5 * C * (a[t] - a[t + 1]) * m[t]
            assert z[t + 1] - z[t] == pytest.approx(0.5 * a[t + 1] * values["delta"] - rest, abs=1e-13)
            if name == "cc-fedams" and v0 == 4:
                assert (rest == 0).all()


def test_clones_do_not_count() -> None:
    """One objective, equal steps, no delay: the path depends neither on the buffer, nor on n, nor on who is drawn."""
    h: dict[str, Any] = {"eta_l": F(1, 4), "eta": F(1), "beta": F(1, 2)}
    ends = set()
    for n, m, first in ((1, 1, 0), (3, 2, 1), (4, 4, 2), (5, 3, 0)):
        clients = pulls([F(2)] * n, [F(3)] * n)
        plan = [Arrival((first + k) % n, 3, 0) for k in range(5 * m)]
        ends.add(end("cc-fedavgm", {"buffer": m, **h}, np.array([F(-1)], dtype=object), clients, plan)[0])
    assert len(ends) == 1 and ends != {F(-1)}


def test_equal_steps_and_curvatures_reach_the_optimum() -> None:
    plan = full(200, [Arrival(0, 4, 1), Arrival(1, 4, 2)])
    got = end("cc-fedsgd", {"buffer": 2, "eta_l": 0.1, "eta": 1.0}, np.array([5.0]), pulls((2, 2), (-1, 4)), plan)
    assert got[0] == pytest.approx(1.5, abs=1e-12)


def test_one_step_of_everybody_is_a_minibatch() -> None:
    """K = 1, no delay, m = n: x - eta eta_l grad f(x), exactly."""
    clients = pulls((F(1), F(3), F(2)), (F(-1), F(2), F(5)))
    x = np.array([F(7)], dtype=object)
    got = end(
        "cc-fedsgd", {"buffer": 3, "eta_l": F(1, 4), "eta": F(2)}, x, clients, [Arrival(i, 1, 0) for i in range(3)]
    )
    assert got[0] == 7 - 2 * F(1, 4) * sum(g(0, x)[0] for g in clients) / 3


def test_the_printed_theorem_fails_with_one_of_two_clients() -> None:
    """Clients (x - 1)^2/2 and (x + 1)^2/2, one drawn, two rounds from 0: G = 2, L = sigma_g = eps = 1, beta = tau = 0.

    The steps meet its conditions (4.1, L223-246): eta_l <= 1/8, 1/120 and 1/(2 sqrt 2), H_1 = 0 and H_2 eta_l <= 1. The
    right side is 240 eta_l^2 L^2 sigma_g^2, since f(z_0) is the minimum and there is neither momentum nor noise.
    """
    eta, eta_l = F(100), F(1, 1000)
    h: dict[str, Any] = {"buffer": 1, "eta_l": eta_l, "eta": eta, "beta1": F(0), "tau": F(1)}
    assert (6 * eta + 2 * 2) * eta_l <= 1 and eta_l**2 * 4 * 2 <= 1
    for i in (0, 1):
        clients, x0 = pulls((F(1), F(1)), (F(1), F(-1))), np.array([F(0)], dtype=object)
        x1 = end("cc-fedadagrad", h, x0, clients, [Arrival(i, 1, 0)])[0]
        assert abs(x1) == F(100, 1001) and x1**2 / 2 > 240 * eta_l**2


def test_the_sampling_identity_and_its_sharp_inequality() -> None:
    """G_2 = sum over i != j of |v_i - v_j|^2 <= 2 n G_1, with equality for opposite vectors; not 2 (n - 1) G_1.

    With the identity the excess of a sample over the mean is (n - m) / (m (n - 1)) times the spread: never negative,
    so that the term the proof drops (L1057) is harmless only for m = n.
    """
    rng = np.random.default_rng(5)
    drawn = [[F(int(k)) for k in rng.integers(-9, 10, n)] for n in (2, 3, 5)]
    for v in ([F(1), F(-1)], [F(2)] * 3, *drawn):
        n, G_1, G_2 = len(v), sum(a * a for a in v), sum((a - b) ** 2 for a in v for b in v)
        assert sum(v) ** 2 == n * G_1 - G_2 / 2
        assert 2 * n * G_1 >= G_2 and (G_2 == 2 * n * G_1 > 2 * (n - 1) * G_1) is (sum(v) == 0)
        for m in range(1, n + 1):
            squares = [sum(v[i] for i in S) ** 2 for S in combinations(range(n), m)]
            mean = sum(squares) / F(len(squares))
            assert mean == F(m * m, n) * G_1 - F(m * (m - 1), 2 * n * (n - 1)) * G_2
            excess = mean / m**2 - (sum(v) / F(n)) ** 2
            assert excess == F(n - m, m * (n - 1)) * (G_1 / n - (sum(v) / F(n)) ** 2)
            assert (excess > 0) is (m < n and len(set(v)) > 1)
