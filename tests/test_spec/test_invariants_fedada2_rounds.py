"""Statements of FedAda2's server and of whole rounds that no law takes up: limits, Lemmas 21 and 22, space, descent."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction as F
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms import fedada2, fedadaadagrad, fedadaadam, joint_local
from fedspec.arith import Array, digits
from fedspec.client.normalised import normalised_sgd
from fedspec.plan import Oracle, Plan, Setup
from fedspec.problems.quadratic import QuadraticClients
from fedspec.server.adagrad import adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import adam

TINY = 1e-12


def test_adagrad_with_a_large_stabiliser_averages() -> None:
    """eta = 2 tau, v_0 = tau^2, no momentum: x_t = x_(t-1) + Delta_t up to |Delta| sum Delta^2 / (4 tau^2)."""
    deltas = [Decimal(k) for k in (3, -1, 2, 5)]
    with digits():
        for tau in (Decimal(10), Decimal(10**4)):
            state, total = init_adaptive(np.array([Decimal(0)], dtype=object), v0=tau**2), Decimal(0)
            for delta in deltas:
                before, total = state.x[0], total + delta**2
                state = adagrad(state, np.array([delta], dtype=object), eta=2 * tau, beta1=Decimal(0), tau=tau)
                gap = abs(state.x[0] - before - delta)
                assert 0 < gap <= abs(delta) * total / (4 * tau**2)


def test_second_moment_of_server_adam() -> None:
    """Delta^2 <= v / (1 - beta2); in rounds without changes v falls below tau^2, which AdaGrad's never does."""
    numbers = {"eta": 1.0, "beta1": 0.5, "tau": 0.1}
    state = other = init_adaptive(np.zeros(5), v0=0.01)
    for delta in np.random.default_rng(0).normal(size=(30, 5)):
        state, other = adam(state, delta, beta2=0.75, **numbers), adagrad(other, delta, **numbers)
        assert (delta**2 <= state.v / 0.25 * (1 + TINY)).all() and (other.v >= 0.01).all()
    for _ in range(60):
        state, other = adam(state, np.zeros(5), beta2=0.75, **numbers), adagrad(other, np.zeros(5), **numbers)
    assert (state.v < 0.01).all() and (other.v >= 0.01).all()


def test_lemma_22_and_its_sharper_form() -> None:
    """Sum of (1 - b^t) Delta_t^2 / v_t <= log(v_T / tau^2), where v_0 = tau^2."""
    rng, worst = np.random.default_rng(1), 0.0
    for b in (0.0, 0.5, 0.9):
        for size in (0.02, 1.0, 30.0):
            state, total, tau = init_adaptive(np.zeros(6), v0=0.25), np.zeros(6), 0.5
            for t, delta in enumerate(rng.normal(scale=size, size=(40, 6)), 1):
                state = adagrad(state, delta, eta=1.0, beta1=b, tau=tau)
                total = total + (1 - b**t) * delta**2 / state.v
            assert (total <= np.log(state.v / tau**2)).all()
            worst = max(worst, float((total / np.log(state.v / tau**2)).max()))
    assert worst > 0.9


def constant_of_lemma_21(b: F) -> tuple[int, F]:
    """u_0, the first u >= 1 from which on b^v v^4 < 1, and c(b) = sum of b^u u^2 up to u_0, plus 1 / u_0."""
    last = max([v for v in range(1, 600) if b**v * v**4 >= 1], default=0)
    u_0 = last + 1
    return u_0, F(sum(b**u * u**2 for u in range(u_0 + 1)) + F(1, u_0))


@pytest.mark.parametrize(
    ("b", "u_0", "c"),
    [
        (F(1, 10), 1, 1.1),
        (F(23, 100), 1, 1.23),
        (F(24, 100), 4, 0.8979),
        (F(1, 2), 17, 6.0561),
        (F(9, 10), 202, 1710.0047),
    ],
)
def test_lemma_21_and_its_closed_form(b: F, u_0: int, c: float) -> None:
    found, constant = constant_of_lemma_21(b)
    closed = b * (1 + b) / (1 - b) ** 3
    assert found == u_0 and float(constant) == pytest.approx(c, abs=5e-5)
    assert closed <= constant
    for T in (1, 2, 5, 30):
        total = sum(b ** (t - r) * (t - r) ** 2 for t in range(1, T + 1) for r in range(1, t + 1))
        assert total <= T * closed <= T * constant


# Whole rounds.


NUMBERS: dict[str, Any] = {"eta_l": 0.125, "eps": 0.5, "eta": 0.25, "beta1": 0.5, "tau": 0.25, "v0": 0.0625}
DECAYS: dict[str, Any] = {"beta1_l": 0.5, "beta2_l": 0.75}
ROWS = {
    "joint-local": (joint_local.step, joint_local.JointLocal, {}),
    "fedada2": (fedada2.step, fedada2.FedAda2, {"z": 2}),
    "fedadaadagrad": (fedadaadagrad.step, fedadaadagrad.FedAdaAdagrad, {"z": 2, "eps_s": 0.25}),
    "fedadaadam": (fedadaadam.step, fedadaadam.FedAdaAdam, {**DECAYS, "z": 2}),
}


def path(row: str, clients: tuple[Oracle, ...], x: Array, rounds: int, steps: int = 3, **changes: Any) -> list[Array]:
    step, kind, more = ROWS[row]
    h = kind(**{**NUMBERS, **more, **changes})
    n, state = len(clients), sys.modules[type(h).__module__].init(h, x, Setup((1,) * len(clients), {"w": (len(x),)}))
    out = [x]
    for _ in range(rounds):
        state, _ = step(h, state, clients, Plan(tuple(range(n)), (steps,) * n, (1,) * n))
        out.append(state.x)
    return out


@pytest.mark.parametrize("row", ROWS)
def test_scaling_space_scales_the_path(row: str) -> None:
    """F(x / 4), the rates and tau times 4, v_0 times 16, eps over 4: four times the path, to the last bit."""
    H, e = np.array([[[2.0, 1], [1, 1]], [[1.0, 0], [0, 3]]]), np.array([[1.0, -3], [2, 1]])
    x = np.array([3.0, -1.0])
    near = path(row, QuadraticClients(H, e).clients, x, 4)
    units = {"eta_l": 0.5, "eps": 0.125, "eta": 1.0, "tau": 1.0, "v0": 1.0}
    far = path(row, QuadraticClients(H / 16, e / 4).clients, 4 * x, 4, **units)
    assert [list(4 * a) for a in near] == [list(b) for b in far]
    assert len({tuple(a) for a in near}) == 5


@pytest.mark.table(1)
@pytest.mark.parametrize("row", ROWS)
def test_small_rates_descend_where_clients_agree(row: str) -> None:
    """Without momentum, dead zone and disagreement f falls in every round."""
    H, e = np.array([[[2.0, 1], [1, 1]]] * 3), np.array([[1.0, -3]] * 3)
    small = {"eta_l": 0.005, "eta": 0.02, "beta1": 0.0, **({"eps_s": 0.0} if row == "fedadaadagrad" else {})}
    xs = path(row, QuadraticClients(H, e).clients, np.array([3.0, -1.0]), 60, **small)
    values = [float(x @ H[0] @ x / 2 - e[0] @ x) for x in xs]
    assert all(b < a for a, b in pairwise(values))


def test_normalised_steps_keep_the_second_moment() -> None:
    """f = x^2 / 2, eta_l = 1/t^2: E x_T^2 <= x_0^2 + sum 1/t^4, below x_0^2 + pi^4/90, over all draws of a noise."""
    T, x0 = 4, F(1, 2)
    draws = [F(s) * size for s in (-1, 1) for size in (F(1, 3), F(10**9))]
    total = F(0)
    for noise in product(draws, repeat=T):
        x = np.array([x0])
        for t, xi in enumerate(noise, 1):
            x = normalised_sgd(x, x + xi, eta_l=F(1, t * t), eps=F(1, 8))
        total += x[0] ** 2
    assert total / len(draws) ** T <= x0**2 + sum(F(1, t**4) for t in range(1, T + 1))
