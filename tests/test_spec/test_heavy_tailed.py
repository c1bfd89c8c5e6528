"""The heavy-tailed problems of FedAda2's App. A: what noise does to FedAvg, and cannot do to bounded steps."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import sympy
from test_spec.exact import vec

from fedspec.algorithms import fedavg, normalised
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import run_round
from fedspec.client.agdu import agdu, begin
from fedspec.errors import ParameterError, PlanError
from fedspec.plan import Plan, Setup
from fedspec.problems.heavy_tailed import cauchy, draw_cauchy, draw_student, noisy, student_2

pytestmark = pytest.mark.long

ETA = F(1, 4)


def exact_noise(rng: np.random.Generator, clients: int, steps: int) -> list[list[np.ndarray]]:
    """One rational draw for each client and step, large ones among them."""
    return [[vec(F(int(rng.integers(-999, 999)), 7)) for _ in range(steps)] for _ in range(clients)]


def fedavg_round(x: np.ndarray, noise: list[list[np.ndarray]], eta_l: Any = ETA) -> np.ndarray:
    K = len(noise[0])
    plan = Plan(tuple(range(len(noise))), (K,) * len(noise), (1,) * len(noise))
    clients = [noisy(xi) for xi in noise]
    h = fedavg.FedAvg(eta_l=eta_l, weights="uniform")  # type: ignore[arg-type]
    trace = run_round(h, x, clients, plan, local=local_sgd, norm=sgd_norm, server=fedavg.server)
    return np.asarray(trace.state)


@pytest.mark.parametrize("K", [1, 2, 5])
def test_fedavg_is_the_sum_of_all_its_noise(K: int) -> None:
    """x = (1 - eta)^K x - eta/|S| sum of (1 - eta)^(K-1-p) xi_(i,p), round after round; the last draw is not damped."""
    rng = np.random.default_rng(K)
    x, want = vec(3), F(3)
    for _ in range(3):
        noise = exact_noise(rng, 3, K)
        x = fedavg_round(x, noise)
        damped = sum((1 - ETA) ** (K - 1 - p) * xi[p][0] for xi in noise for p in range(K))
        want = (1 - ETA) ** K * want - ETA / 3 * damped
        assert list(x) == [want]


def test_with_variance_fedavg_keeps_it() -> None:
    """Unit noise in round t moves the last model by -eta (1 - eta)^(T-t): squares sum to eta (1 - q^T) / (2 - eta)."""
    T = 12
    moved = []
    for t in range(T):
        x = vec(0)
        for s in range(T):
            x = fedavg_round(x, [[vec(int(s == t))]])
        moved.append(x[0])
    q = (1 - ETA) ** 2
    assert sum(m * m for m in moved) == ETA / (2 - ETA) * (1 - q**T)


def test_the_quantile_of_student_2_inverts_its_distribution() -> None:
    xi = student_2(vec(F(8, 9), F(1, 9)))
    assert list(xi) == [F(7, 4), F(-7, 4)]
    # P(t_2 <= 7/4) = 1/2 + (7/4) / (2 (9/4)), since 2 + (7/4)^2 = (9/4)^2
    assert F(1, 2) + F(7, 4) / (2 * F(9, 4)) == F(8, 9)
    y = sympy.Symbol("y", positive=True)
    distribution = sympy.Rational(1, 2) + y / (2 * sympy.sqrt(2 + y**2))
    assert sympy.simplify(sympy.diff(distribution, y) - (2 + y**2) ** sympy.Rational(-3, 2)) == 0


def second_moment(density: Any, x: sympy.Symbol, R: sympy.Symbol) -> Any:
    """The second moment within [-R, R] of a symmetric density."""
    return 2 * sympy.integrate(x**2 * density, (x, 0, R))


def test_student_2_has_no_variance_and_diverges_slowly() -> None:
    """Within [-R, R] it has 2 asinh(R / sqrt(2)) - 2R / sqrt(R^2 + 2), which grows as 2 log R does."""
    R = sympy.Symbol("R", positive=True)
    truncated = 2 * sympy.asinh(R / sympy.sqrt(2)) - 2 * R / sympy.sqrt(R**2 + 2)
    assert truncated.subs(R, 0) == 0
    assert sympy.simplify(sympy.diff(truncated, R) - 2 * R**2 * (2 + R**2) ** sympy.Rational(-3, 2)) == 0
    assert sympy.limit(truncated / sympy.log(R), R, sympy.oo) == 2


@pytest.mark.table(1)
def test_student_3_has_a_variance_and_cauchy_not_even_a_mean() -> None:
    x, R, gamma = sympy.symbols("x R gamma", positive=True)
    student_3 = 6 * sympy.sqrt(3) / (sympy.pi * (3 + x**2) ** 2)
    assert sympy.limit(second_moment(student_3, x, R), R, sympy.oo) == 3
    density = gamma / (sympy.pi * (x**2 + gamma**2))
    moment = second_moment(density, x, R)
    assert sympy.simplify(moment - 2 * gamma / sympy.pi * (R - gamma * sympy.atan(R / gamma))) == 0
    mean = 2 * sympy.integrate(x * density, (x, 0, R))
    assert sympy.limit(mean, R, sympy.oo) == sympy.oo


@pytest.mark.parametrize("size", [1, 10**3, 10**30])
def test_bounded_steps_whatever_the_noise(size: int) -> None:
    """K normalised steps move a client by less than K eta_l; FedAvg's move in proportion to the noise."""
    K, x = 3, vec(2)
    noise = [[vec(size), vec(-7 * size), vec(5 * size)], [vec(size)] * K]
    h = normalised.FedAvgNormalised(eta_l=ETA, eps=F(1, 2))
    plan = Plan((0, 1), (K, K), (1, 1))
    state = normalised.init(h, x, Setup((1, 1), {"w": (1,)}))
    after, _ = normalised.step(h, state, [noisy(xi) for xi in noise], plan)
    assert abs(after.x[0] - x[0]) < K * ETA
    still = fedavg_round(x, [[vec(0)] * K] * 2)[0]
    quiet = fedavg_round(x, [[xi / size for xi in row] for row in noise])[0] - still
    assert fedavg_round(x, noise)[0] - still == size * quiet


def test_a_delay_lets_the_noise_in() -> None:
    """With z = 2 the second step is g_2 / (|g_1| + eps), as large as its noise; with z = 1 none is as long as eta_l."""
    first, eps = F(1), F(1, 2)
    for size in (F(4, 3), F(10**6 - 1) / 2000, F(10**30)):
        late = agdu(begin(vec(0)), vec(first), eta_l=ETA, eps=eps, z=2)
        assert agdu(late, vec(size), eta_l=ETA, eps=eps, z=2).x[0] - late.x[0] == -ETA * size / (first + eps)
    at_once = agdu(begin(vec(0)), vec(3), eta_l=ETA, eps=eps, z=1)
    assert abs(agdu(at_once, vec(4), eta_l=ETA, eps=eps, z=1).x[0] - at_once.x[0]) == ETA * 4 / (5 + eps) < ETA


def test_rates_that_sum_keep_the_model_near_its_start() -> None:
    """With eta_l = 1/t^2 nothing moves it further than pi^2/6, Cauchy noise included."""
    rng = np.random.default_rng(7)
    noise = draw_cauchy(rng, 0.3, (400, 2))
    state: Any = normalised.State(np.array([1.0]))
    for t, row in enumerate(noise, 1):
        h = normalised.FedAvgNormalised(eta_l=1 / t**2, eps=0.5)
        state, _ = normalised.step(h, state, [noisy([np.array([xi])]) for xi in row], Plan((0, 1), (1, 1), (1, 1)))
        assert abs(state.x[0] - 1.0) < np.pi**2 / 6


def test_without_noise_the_optimum_is_reached() -> None:
    """f = x^2 / 2, x* = 0: the normalised step contracts by 1 - eta_l / (|x| + eps)."""
    h = normalised.FedAvgNormalised(eta_l=0.25, eps=1.0)
    state: Any = normalised.State(np.array([5.0]))
    for _ in range(200):
        state, _ = normalised.step(h, state, [noisy([np.zeros(1)] * 2)], Plan((0,), (2,), (1,)))
    assert abs(state.x[0]) < 1e-12


@pytest.mark.parametrize("kind", ["student", "cauchy"])
def test_draws_follow_their_distribution(kind: str) -> None:
    """Kolmogorov and Smirnov at one in ten thousand, on a fixed seed."""
    n = 4000
    rng = np.random.default_rng(11)
    drawn = np.sort(draw_student(rng, 2, (n,)) if kind == "student" else draw_cauchy(rng, 0.25, (n,)))
    student, lorentz = 0.5 + drawn / (2 * np.sqrt(2 + drawn**2)), 0.5 + np.arctan(drawn / 0.25) / np.pi
    below = student if kind == "student" else lorentz
    gap = np.max(np.abs(below - (np.arange(n) + 0.5) / n))
    assert gap < 2.23 / np.sqrt(n)


def test_draws_come_from_the_given_generator() -> None:
    for nu in (2, 3):
        a, b = (draw_student(np.random.default_rng(3), nu, (2, 5)) for _ in range(2))
        assert a.shape == (2, 5) and (a == b).all()
    assert cauchy(np.array([0.5]), gamma=0.3)[0] == 0


def test_what_is_refused() -> None:
    gradient = noisy([vec(1)])
    assert list(gradient(0, vec(2))) == [3]
    with pytest.raises(PlanError, match="1 draws, and local step 2"):
        gradient(1, vec(2))
    with pytest.raises(ParameterError, match=r"nu: got 1\.5"):
        draw_student(np.random.default_rng(0), 1.5, (1,))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="gamma: got 0"):
        draw_cauchy(np.random.default_rng(0), 0, (1,))
