"""Statements of FedNova that no law takes up: entries and lengths of a_i, chi^2 in its parameters, random steps."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from test_spec.control_runs import Run, line
from test_spec.exact import vec

from fedspec.arith import Array
from fedspec.linear import eye
from fedspec.mixing.accumulation import a_norm, accumulation
from fedspec.plan import Oracle
from fedspec.problems.quadratic import QuadraticClients, given, limit, local_matrix
from fedspec.readings import Solver

STEPS = (1, 2, 5, 9)


def squares(a: Sequence[Any]) -> Any:
    return sum(x * x for x in a)


@pytest.mark.parametrize("tau", STEPS)
def test_lengths_of_accumulation_vectors(tau: int) -> None:
    """||a||_2^2 in closed form, no entry negative, and 1/tau <= ||a||_2^2 / ||a||_1^2 <= 1."""
    alpha, rho, gamma = F(1, 4), F(2, 3), F(3, 5)
    b = 1 - alpha
    vectors = {
        Solver.SGD: F(tau),
        Solver.PROXIMAL: (1 - b ** (2 * tau)) / (1 - b**2),
        Solver.DECAYED: (1 - gamma ** (2 * tau)) / (1 - gamma**2),
        Solver.MOMENTUM: (tau - 2 * rho * (1 - rho**tau) / (1 - rho) + rho**2 * (1 - rho ** (2 * tau)) / (1 - rho**2))
        / (1 - rho) ** 2,
    }
    for solver, want in vectors.items():
        a = accumulation(solver, tau, alpha=alpha, rho=rho, gamma=gamma)
        assert squares(a) == want and min(a) > 0
        assert F(1, tau) <= want / sum(a) ** 2 <= 1
    proximal = accumulation(Solver.PROXIMAL, tau, alpha=alpha)
    assert proximal[::-1] == accumulation(Solver.DECAYED, tau, gamma=b)


def test_vectors_of_fewer_steps_and_running_counters() -> None:
    """Those of k steps are the first entries where the rate decays, the last ones otherwise; counters add them up."""
    alpha, rho, gamma = F(1, 4), F(2, 3), F(3, 5)
    numbers = {"alpha": alpha, "rho": rho, "gamma": gamma}
    for solver in (Solver.SGD, Solver.PROXIMAL, Solver.DECAYED, Solver.MOMENTUM):
        whole = accumulation(solver, 7, **numbers)
        for k in range(1, 7):
            part = accumulation(solver, k, **numbers)
            assert part == (whole[:k] if solver is Solver.DECAYED else whole[7 - k :])
    counter = momentum = proximal = decayed = outside = F(0)
    for tau in range(1, 9):
        counter = rho * counter + 1
        momentum, proximal, decayed = momentum + counter, (1 - alpha) * proximal + 1, decayed + gamma ** (tau - 1)
        outside = (1 - alpha) * outside + counter
        assert momentum == a_norm(Solver.MOMENTUM, tau, rho=rho) and tau <= momentum <= tau / (1 - rho)
        assert proximal == a_norm(Solver.PROXIMAL, tau, alpha=alpha)
        assert tau / (1 + alpha * tau) <= proximal <= min(F(tau), 1 / alpha)
        assert decayed == a_norm(Solver.DECAYED, tau, gamma=gamma)
        assert outside == a_norm(Solver.MOMENTUM_PROXIMAL_OUTSIDE, tau, alpha=alpha, rho=rho)


def test_steps_of_sgd_compose() -> None:
    clients, x = line(3, h=(2,)).clients, vec(-5)
    once, twice = (Run("fedavg", {"eta_l": F(1, 8)}, clients, (F(1),), x) for _ in range(2))
    assert (once.rounds([(5,)]) == twice.rounds([(2,), (3,)])).all()


@pytest.mark.parametrize("solver", [{}, {"solver": "proximal", "mu": 4.0}, {"solver": "momentum", "rho": 0.75}])
def test_a_direction_is_among_its_gradients(solver: dict[str, Any]) -> None:
    """With given gradients of length up to 1 a round of FedNova moves by eta_l tau_eff at most, whatever the solver."""
    rng = np.random.default_rng(2)
    for steps in ((1, 6), (4, 3)):
        rows = [rng.normal(size=(6, 3)) for _ in steps]
        clients: list[Oracle] = [given(list(r / np.linalg.norm(r, axis=1, keepdims=True))) for r in rows]
        for alone in (0, 1):
            run = Run("fednova", {"eta_l": 0.125, **solver}, clients, (1.0, 3.0), np.zeros(3))
            values = run.round({alone: steps[alone]})
            d = -run.x / (0.125 * values["tau_eff"])
            met = np.stack([clients[alone](k, run.x) for k in range(steps[alone])])
            assert (d <= met.max(0) + 1e-12).all() and (d >= met.min(0) - 1e-12).all()
        run = Run("fednova", {"eta_l": 0.125, **solver}, clients, (1.0, 3.0), np.zeros(3))
        values = run.round(steps)
        assert np.linalg.norm(run.x) <= 0.125 * values["tau_eff"]


def chi_squared(a: Sequence[F], p: Sequence[F]) -> F:
    return F(sum(p_i * x for p_i, x in zip(p, a, strict=True)) * sum(p_i / x for p_i, x in zip(p, a, strict=True)) - 1)


def test_inconsistency_falls_with_alpha_and_grows_with_rho() -> None:
    """And tau_eff of FedProx falls with alpha, from the mean of the steps to 1."""
    p, grid = (F(1, 6), F(1, 3), F(1, 2)), [F(k, 8) for k in range(9)]
    for steps in ((1, 2, 9), (5, 3, 4)):
        proximal = [[a_norm(Solver.PROXIMAL, tau, alpha=alpha) for tau in steps] for alpha in grid]
        momentum = [[a_norm(Solver.MOMENTUM, tau, rho=rho) for tau in steps] for rho in grid[:-1]]
        assert all(chi_squared(a, p) > chi_squared(b, p) for a, b in pairwise(proximal))
        assert all(chi_squared(a, p) < chi_squared(b, p) for a, b in pairwise(momentum))
        tau_eff = [sum(p_i * x for p_i, x in zip(p, a, strict=True)) for a in proximal]
        assert all(x > y for x, y in pairwise(tau_eff))
        assert tau_eff[0] == sum(p_i * tau for p_i, tau in zip(p, steps, strict=True)) and tau_eff[-1] == 1
        assert chi_squared(proximal[-1], p) == 0


def constants(vectors: Sequence[Sequence[F]], p: Sequence[F], c: F = F(1)) -> tuple[F, F, F, F]:
    """Tau_eff, A, B and C of eq. (9) for the implied weights, with every vector times c."""
    a = [[c * x for x in row] for row in vectors]
    norms = [F(sum(row)) for row in a]
    tau_eff = F(sum(p_i * n for p_i, n in zip(p, norms, strict=True)))
    w = [p_i * n / tau_eff for p_i, n in zip(p, norms, strict=True)]
    A = len(p) * tau_eff * sum(w_i**2 * squares(row) / n**2 for w_i, row, n in zip(w, a, norms, strict=True))
    B = sum(w_i * (squares(row) - row[-1] ** 2) for w_i, row in zip(w, a, strict=True))
    return tau_eff, A, F(B), max(n * (n - row[-1]) for row, n in zip(a, norms, strict=True))


def test_constants_of_theorem_1() -> None:
    """A <= m tau_eff sum w_i^2, 0 <= B <= C; A grows as tau_eff does, B and C as its square: (96) stays."""
    p, steps = (F(1, 6), F(1, 3), F(1, 2)), (1, 2, 5)
    mean = sum(p_i * tau for p_i, tau in zip(p, steps, strict=True))
    for solver, more in ((Solver.SGD, {}), (Solver.PROXIMAL, {"alpha": F(1, 3)}), (Solver.MOMENTUM, {"rho": F(1, 2)})):
        vectors = [accumulation(solver, tau, **more) for tau in steps]
        tau_eff, A, B, C = constants(vectors, p)
        w = [p_i * sum(row) / tau_eff for p_i, row in zip(p, vectors, strict=True)]
        assert 3 * tau_eff * sum(w_i**2 for w_i in w) >= A and 0 <= B <= C
        assert constants(vectors, p, F(5, 2)) == (F(5, 2) * tau_eff, F(5, 2) * A, F(25, 4) * B, F(25, 4) * C)
        if solver is Solver.SGD:
            assert 3 * sum(p_i**2 * tau for p_i, tau in zip(p, steps, strict=True)) / mean == A
            assert sum(p_i * tau * (tau - 1) for p_i, tau in zip(p, steps, strict=True)) / mean == B and C == 20
            limits = (tau_eff, A, B, C)
    assert constants([accumulation(Solver.SGD, 1)] * 3, p)[2:] == (0, 0)
    near = constants([accumulation(Solver.PROXIMAL, tau, alpha=F(1, 10**9)) for tau in steps], p)
    assert [float(x) for x in near] == pytest.approx([float(x) for x in limits], rel=1e-7)


H = np.array([[F(2), F(1), F(0)], [F(1), F(3), F(1)], [F(0), F(1), F(1)]], dtype=object)


@pytest.mark.parametrize("solver", [Solver.SGD, Solver.PROXIMAL, Solver.MOMENTUM, Solver.DECAYED])
def test_the_matrices_of_local_runs(solver: Solver) -> None:
    """K commutes with H; plain, proximal: K_(tau+1) = K_tau (I - eta_l (H + mu I)) + eta_l I, and 0 < K <= eta_l A."""
    eta_l, mu = F(1, 8), F(2) if solver is Solver.PROXIMAL else F(0)
    numbers: dict[str, Any] = {"eta_l": eta_l, "mu": mu, "rho": F(1, 2), "gamma": F(3, 4)}
    one = eye(H)
    for tau in STEPS[:3]:
        K = local_matrix(solver, H, tau, **numbers)
        assert (K @ H == H @ K).all()
        if solver in (Solver.SGD, Solver.PROXIMAL):
            after = K @ (one - eta_l * (H + mu * one)) + eta_l * one
            assert (local_matrix(solver, H, tau + 1, **numbers) == after).all()
            A = a_norm(solver, tau, alpha=eta_l * mu)
            eigenvalues = np.linalg.eigvalsh(K.astype(float))
            assert eigenvalues.min() > 0 and eigenvalues.max() <= float(eta_l * A)
        if solver is Solver.SGD:
            power = one
            for _ in range(tau):
                power = power @ (one - eta_l * H)
            assert (one - power == K @ H).all()


def nova_limit(eta_l: F, problem: QuadraticClients, p: Array, steps: Sequence[int]) -> Array:
    K = np.stack([local_matrix(Solver.SGD, H_i, tau, eta_l=eta_l) for H_i, tau in zip(problem.H, steps, strict=True)])
    return limit(p / np.array([F(tau) for tau in steps], dtype=object), K, problem)


def test_the_bias_of_fednova_is_of_first_order_in_the_rate() -> None:
    problem, p, steps = line(1, -2, 4, h=(1, 3, 2)), vec(F(1, 6), F(1, 3), F(1, 2)), (1, 2, 5)
    best = problem.minimiser(p)
    gaps = [(nova_limit(F(1, 2**k), problem, p, steps) - best)[0] for k in (8, 9, 10, 11)]
    assert [float(a / b) for a, b in pairwise(gaps)] == pytest.approx([2, 2, 2], abs=0.02)
    # No bias at all where curvatures and steps agree.
    assert (nova_limit(F(1, 4), line(1, -2, 4, h=(2, 2, 2)), p, (3, 3, 3)) == vec(F(3, 4))).all()


def test_an_effective_rate_below_two_over_l_contracts() -> None:
    """FedNova's M = 1 - sum of W_i K_i h_i: |M| < 1 for tau_eff eta_l L < 2 and eta_l L <= 1, and not for all above."""
    rng, beyond = np.random.default_rng(3), []
    for _ in range(200):
        h, steps = rng.uniform(0.1, 2, 3), rng.integers(1, 12, 3).tolist()
        p, eta_l = rng.dirichlet(np.ones(3)), float(rng.uniform(0.01, 0.5))
        tau_eff = float(p @ steps)
        clients = QuadraticClients(h[:, None, None], np.zeros((3, 1))).clients
        run = Run("fednova", {"eta_l": eta_l}, clients, tuple(p), np.ones(1))
        run.round(steps)
        if tau_eff * eta_l * max(h) < 2:
            assert abs(run.x[0]) < 1
        else:
            beyond.append(abs(run.x[0]))
    clients = line(0, 0, h=(1, 1)).clients
    run = Run("fednova", {"eta_l": F(1, 10)}, clients, (F(1), F(1)), vec(1))
    assert abs(run.rounds([(1, 100)])[0]) > 1 and beyond


def test_lemma_4_is_an_equality() -> None:
    """(x - a)^2 / 2 and (x + a)^2 / 2: at FedAvg's limit for small rates |grad F|^2 = chi^2(p||w) kappa^2."""
    a, p = F(3), (F(1, 2), F(1, 2))
    problem = line(a, -a)
    for steps in ((1, 4), (2, 3), (5, 5)):
        w = vec(*steps) / sum(steps)
        x = problem.minimiser(w)
        gradients = [client(0, x)[0] for client in problem.clients]
        kappa_squared = sum(w_i * g * g for w_i, g in zip(w, gradients, strict=True))
        assert (sum(gradients) / 2) ** 2 == chi_squared([F(tau) for tau in steps], p) * kappa_squared
        K = np.stack([local_matrix(Solver.SGD, problem.H[0], tau, eta_l=F(1, 10**9)) for tau in steps])
        assert abs(limit(vec(*p), K, problem)[0] - x[0]) < F(1, 10**7)


def test_random_steps_of_fedavg_are_unbiased_with_a_known_variance() -> None:
    """Equally distributed tau_i: x* in the mean, V = c sum p_i^2 |e_i - x*|^2 / (1 - (1 - EK)^2 - c sum p_i^2).

    K = 1 - (1 - eta_l)^tau, c = Var K, for objectives |x - e_i|^2 / 2.
    """
    e, p, eta_l, choices = (F(1), F(-2), F(4)), vec(F(1, 6), F(1, 3), F(1, 2)), F(1, 4), (1, 2, 4)
    best = sum(p_i * e_i for p_i, e_i in zip(p, e, strict=True))

    def second(s: F) -> tuple[F, F]:
        """The mean and the mean square of x' - x* from x* + s, over all draws of steps."""
        moved = []
        for steps in product(choices, repeat=3):
            run = Run("fedavg", {"eta_l": eta_l, "eta": F(1)}, line(*e).clients, (F(1), F(2), F(3)), vec(best + s))
            moved.append(run.rounds([steps])[0] - best)
        return sum(moved) / F(len(moved)), sum(x * x for x in moved) / F(len(moved))

    K = [1 - (1 - eta_l) ** tau for tau in choices]
    mean = sum(K) / 3
    c = sum((k - mean) ** 2 for k in K) / 3
    (zero, C), (right, plus), (_, minus) = second(F(0)), second(F(1)), second(F(-1))
    assert zero == 0 and right == 1 - mean
    A = (plus + minus) / 2 - C
    scatter = sum(p_i**2 * (e_i - best) ** 2 for p_i, e_i in zip(p, e, strict=True))
    assert c * scatter / (1 - (1 - mean) ** 2 - c * sum(p_i**2 for p_i in p)) == C / (1 - A)
