"""Where control variates, duals, sampled FedNova and FedNova with momentum end up: their own closed-form limits."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.control_runs import Run, line
from test_spec.exact import vec

from fedspec.algorithms.fednova_vr import State
from fedspec.arith import Array
from fedspec.linear import eye, solve
from fedspec.problems.quadratic import QuadraticClients, limit, local_matrix
from fedspec.readings import Solver

pytestmark = [pytest.mark.long, pytest.mark.table(1)]

N = (1.0, 2.0, 3.0, 4.0)
P = np.array(N) / 10
UNIFORM = np.full(4, 0.25)
STEPS = (1, 5, 2, 8)


def clients() -> QuadraticClients:
    """Four clients in the plane whose curvatures and minima differ; largest eigenvalue about 3."""
    A = np.array([[[1, 2], [0, 1]], [[2, 1], [-1, 1]], [[1, 0], [2, 2]], [[0, 1], [1, 0]]], dtype=float)
    H = A @ A.transpose(0, 2, 1) / 4 + np.eye(2) / 2
    return QuadraticClients(H, np.array([[1, 2], [-1, 0.5], [3, -1], [0, -2]], dtype=float))


PROBLEM = clients()


def end(name: str, plans: Iterable[Mapping[int, int] | Sequence[int]], **hyper: Any) -> Array:
    run = Run(name, {"eta_l": 0.1, **hyper}, PROBLEM.clients, N, np.array([3.0, -3.0]))
    return run.rounds(plans)


def everybody(rounds: int, steps: Sequence[int] = STEPS) -> list[Sequence[int]]:
    return [steps] * rounds


def in_turn(rounds: int) -> list[Mapping[int, int]]:
    """Two clients at a time."""
    return [{i: STEPS[i] for i in (t % 4, (t + 1 + t // 4 % 3) % 4)} for t in range(rounds)]


def changing(rounds: int) -> list[Sequence[int]]:
    """Steps that differ from round to round."""
    return [[STEPS, STEPS[::-1], (3, 1, 4, 1)][t % 3] for t in range(rounds)]


def near(x: Array, want: Array, gap: float = 1e-10) -> bool:
    return float(np.abs(x - want).max()) < gap


@pytest.mark.long
@pytest.mark.parametrize("plans", [everybody, changing])
@pytest.mark.parametrize(
    "options",
    [{"solver": "sgd"}, {"solver": "momentum", "rho": 0.5}, {"solver": "proximal", "mu": 1.0}, {"weights": "uniform"}],
    ids=lambda o: "-".join(map(str, o.values())),
)
def test_variance_reduction_reaches_the_minimum_exactly(options: dict[str, Any], plans: Any) -> None:
    """Whatever the solver and the numbers of steps; FedNova itself stops elsewhere."""
    want = PROBLEM.minimiser(UNIFORM if options.get("weights") == "uniform" else P)
    assert near(end("fednova-vr", plans(150), **options), want)
    assert not near(end("fednova", plans(150), **options), want, 1e-3)


def test_the_repaired_algorithm_2_reaches_the_minimum() -> None:
    assert near(end("fednova-alg2", changing(150), rho=0.25, stored="uncorrected"), PROBLEM.minimiser(P))


def _printed_limit(
    problem: QuadraticClients, p: Any, steps: Sequence[int], eta_l: Any, rho: Any
) -> tuple[Array, Array]:
    """X and d_i with sum p_i (I + M_i)^-1 M_i grad F_i(x) = 0, M_i = K_i / (eta_l ||a_i||_1)."""
    one, W = eye(problem.H[0]), []
    for H_i, tau in zip(problem.H, steps, strict=True):
        K, flat = (local_matrix(Solver.MOMENTUM, H, tau, eta_l=eta_l, rho=rho) for H in (H_i, one * 0))
        M = K / flat[0, 0]
        W.append(np.stack([solve(one + M, column) for column in M.T], axis=1))
    x = limit(p, np.stack(W), problem)
    d = np.stack([W_i @ (H_i @ x - e_i) for W_i, H_i, e_i in zip(W, problem.H, problem.e, strict=True)])
    return x, d


def test_the_printed_algorithm_2_rests_at_a_wrong_point() -> None:
    """The closed form is a fixed point of the algorithm exactly, and not the minimum."""
    problem = QuadraticClients(
        np.array([[[F(1), F(1, 2)], [F(1, 2), F(2)]], [[F(3), F(0)], [F(0), F(1)]]], dtype=object),
        np.array([[F(1), F(2)], [F(-1), F(3)]], dtype=object),
    )
    p = vec(F(1, 3), F(2, 3))
    x, d = _printed_limit(problem, p, (2, 3), F(1, 8), F(1, 4))
    h = {"eta_l": F(1, 8), "rho": F(1, 4), "stored": "corrected"}
    run = Run("fednova-alg2", h, problem.clients, (F(1), F(2)), x)
    run.state = State(x=x, d=d, p=p)
    run.round((2, 3))
    assert (run.x == x).all() and (run.state.d == d).all()
    assert (x != problem.minimiser(p)).all()


def test_the_printed_algorithm_2_goes_there() -> None:
    """H = 1, where the limit is the mean of the e_i with weights p_i s_i / (1 + s_i), s_i = K_i / (eta_l ||a_i||_1)."""
    steps, eta_l, e = (2, 8), 0.2, np.array([1.0, -2.0])
    s = np.array([(1 - (1 - eta_l) ** tau) / (eta_l * tau) for tau in steps])
    ones = QuadraticClients(np.ones((2, 1, 1)), e[:, None])
    h = {"eta_l": eta_l, "rho": 0.0, "stored": "corrected"}
    run = Run("fednova-alg2", h, ones.clients, (1.0, 1.0), np.array([1.0]))
    x = run.rounds([steps] * 400)[0]
    assert x == pytest.approx((s / (1 + s)) @ e / sum(s / (1 + s)), abs=1e-12)
    plain = s @ e / sum(s)
    assert 0.1 < abs(x + 0.5) < abs(plain + 0.5), "nearer to the minimum, -1/2, than without any correction"


@pytest.mark.parametrize("weights", ["uniform", "examples"])
def test_vrl_sgd_keeps_the_bias_of_fedavg(weights: str) -> None:
    """With steps that differ but stay: the minimum of sum p_i tau_i F_i, without the error of order eta_l."""
    p = (P if weights == "examples" else UNIFORM) * np.array(STEPS)
    want = PROBLEM.minimiser(p / sum(p))
    assert near(end("vrl-sgd", everybody(150), weights=weights), want)
    assert not near(end("fedavg", everybody(150), weights=weights), want, 1e-3)


@pytest.mark.parametrize("divisor", ["own-steps", "mean-steps"])
def test_vrl_sgd_with_equal_steps_reaches_the_minimum(divisor: str) -> None:
    assert near(end("vrl-sgd", everybody(150, (4,) * 4), divisor=divisor), PROBLEM.minimiser(UNIFORM))


def test_vrl_sgd_with_one_divisor_reaches_the_minimum() -> None:
    assert near(end("vrl-sgd", everybody(150), divisor="mean-steps"), PROBLEM.minimiser(UNIFORM))


@pytest.mark.night
def test_vrl_sgd_diverges_when_the_steps_change() -> None:
    """FedNova, L78 and Fig. 2: steps drawn anew in every round, the same objectives but for their minima."""
    rng = np.random.default_rng(30)
    e = rng.normal(scale=0.1, size=(30, 3))
    steps = rng.normal(30, 25, size=(20, 30)).clip(1, 96).astype(int).tolist()
    problem = QuadraticClients(np.stack([np.eye(3)] * 30), e)
    sizes = {}
    for name, h in (("vrl-sgd", {}), ("fednova-vr", {"weights": "uniform"}), ("scaffold", {"eta": 1.0})):
        run = Run(name, {"eta_l": 0.05, **h}, problem.clients, (1.0,) * 30, np.zeros(3))
        sizes[name] = float(np.abs(run.rounds(steps) - e.mean(axis=0)).max())
    assert sizes["vrl-sgd"] > 1e3
    assert max(sizes["fednova-vr"], sizes["scaffold"]) < 1e-7


@pytest.mark.long
@pytest.mark.parametrize("plans", [everybody, in_turn, changing])
@pytest.mark.parametrize(
    "options", [{}, {"control": "gradient-at-x"}, {"weights": "examples"}], ids=["option-2", "option-1", "weighted"]
)
def test_scaffold_reaches_the_minimum(options: dict[str, Any], plans: Any) -> None:
    """With any steps and whoever takes part, where FedAvg stops elsewhere."""
    want = PROBLEM.minimiser(P if options.get("weights") == "examples" else UNIFORM)
    assert near(end("scaffold", plans(150), eta=1.0, **options), want)
    assert not near(end("fedavg", everybody(150), weights=options.get("weights", "uniform")), want, 1e-3)


@pytest.mark.long
@pytest.mark.parametrize("plans", [everybody, in_turn, changing])
@pytest.mark.parametrize("mu", [1.0, 2.0])
def test_feddyn_reaches_the_minimum(mu: float, plans: Any) -> None:
    assert near(end("feddyn", plans(500), mu=mu), PROBLEM.minimiser(UNIFORM))


@pytest.mark.long
@pytest.mark.parametrize("form", ["changes", "gradients"])
@pytest.mark.parametrize("solver", [{"solver": "sgd"}, {"solver": "momentum", "rho": 0.5}], ids=["server", "hybrid"])
def test_momentum_leaves_the_limit_of_fednova_where_it_is(solver: dict[str, Any], form: str) -> None:
    """Sum p_i / ||a_i||_1 K_i (e_i - H_i x) = 0, whatever beta."""
    numbers: dict[str, Any] = {"eta_l": 0.05, "rho": solver.get("rho", 0)}
    kind = Solver(solver["solver"])
    K = np.stack([local_matrix(kind, H_i, tau, **numbers) for H_i, tau in zip(PROBLEM.H, STEPS, strict=True)])
    a = [local_matrix(kind, np.zeros((2, 2)), tau, **numbers)[0, 0] for tau in STEPS]
    want = limit(P / a, K, PROBLEM)
    for beta in (0.0, 0.5):
        x = end("fednova-momentum", everybody(300), **{**solver, "eta_l": 0.05, "beta": beta, "buffer_holds": form})
        assert near(x, want)
    assert not near(want, PROBLEM.minimiser(P), 1e-3)


def _mean_end(weights: str, steps: str, samples: Sequence[tuple[tuple[int, ...], F]], **more: Any) -> F:
    """Where the mean of the models ends: a step is affine, so that its mean is the step m x + b from the mean model."""

    def step(x: F) -> F:
        total = F(0)
        for S, chance in samples:
            h = {"eta_l": F(1, 20), "sampled_weights": weights, "sampled_steps": steps, **more}
            run = Run("fednova-sampled", h, line(1, -2, 4, h=(1, 3, 2)).clients, (F(1), F(2), F(3)), vec(x))
            run.round({0: 1, 1: 2, 2: 4}, draws=S)
            total += chance * run.x[0]
        return total

    b = step(F(0))
    m = step(F(1)) - b
    assert abs(m) < 1
    return b / (1 - m)


def test_sampled_fednova_ends_in_the_mean_where_fednova_does() -> None:
    """And where FedAvg does, if one client is drawn and tells the steps; with two draws, half the way."""
    h, e, tau = vec(1, 3, 2), vec(1, -2, 4), vec(1, 2, 4)
    p = vec(1, 2, 3) / 6
    r = 1 - (1 - F(1, 20) * h) ** np.array([1, 2, 4])
    nova, fedavg, half = ((w * r / h) @ e / (w @ r) for w in (p / tau, p, p / tau * (p @ tau) + p))
    singles = [((i,), p[i]) for i in range(3)]
    pairs = [((i, j), p[i] * p[j]) for i, j in itertools.product(range(3), repeat=2)]
    subsets = [(S, F(1, 3)) for S in itertools.combinations(range(3), 2)]
    assert _mean_end("with-replacement", "fixed", pairs, tau_eff=p @ tau) == nova
    assert _mean_end("without-replacement", "fixed", subsets, tau_eff=F(2)) == nova
    assert _mean_end("with-replacement", "sample", singles) == fedavg
    assert _mean_end("with-replacement", "sample", pairs) == half
    assert _mean_end("self-normalised", "sample", subsets) not in (nova, fedavg, half)
