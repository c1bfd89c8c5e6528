"""How late algorithms move: how much delay is stable, how much sampling scatters, how long the steps are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction as F
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from test_spec.late_clients import STEPS, TWO, end, full, pulls, root_of, trace

from fedspec.catalogue import CATALOGUE, Program
from fedspec.linear import eye, solve
from fedspec.plan import Arrival, Oracle, Setup

pytestmark = pytest.mark.long


def largest_root(delays: Sequence[int], a: float) -> float:
    """The spectral radius of x_(t+1) = x_t - a mean of x_(t-s) over the delays s."""
    size = max(delays) + 1
    C = np.eye(size, k=-1)
    C[0, 0] = 1
    for s in delays:
        C[0, s] -= a / len(delays)
    return float(max(abs(np.linalg.eigvals(C))))


def growth(delays: Sequence[int], a: float) -> float:
    """The factor by which a buffer of one client with h = 1, K = 1 moves the model in the long run."""
    m = len(delays)
    h = {"buffer": m, "eta_l": 0.125, "eta": 8 * a}
    plan = full(600, [Arrival(0, 1, s) for s in delays])
    xs = [abs(x[0]) for x, _ in trace("cc-fedsgd", h, np.array([1.0]), pulls([1.0], [0.0]), plan)][m - 1 :: m]
    return float((max(xs[-40:]) / max(xs[260:300])) ** (1 / 300))


@pytest.mark.table(1)
@pytest.mark.long
@pytest.mark.parametrize("tau", range(7))
def test_a_delay_is_stable_up_to_its_threshold(tau: int) -> None:
    """x_(t+1) = x_t - a x_(t-tau) converges iff 0 < a < 2 sin(pi / (2 (2 tau + 1)))."""
    edge = 2 * math.sin(math.pi / (2 * (2 * tau + 1)))
    assert largest_root([tau], edge) == pytest.approx(1, abs=1e-9)
    for a in (0.97 * edge, 1.03 * edge):
        factor = growth([tau], a)
        assert (factor < 1) == (a < edge)
        assert factor == pytest.approx(largest_root([tau], a), abs=5e-4)


@pytest.mark.table(1)
@pytest.mark.long
@pytest.mark.parametrize(("tau", "limit"), list(enumerate((2, 2, 1.5, 1.17, 0.955, 0.804, 0.694))))
def test_mixed_delays_are_stable_up_to_theirs(tau: int, limit: float) -> None:
    """A buffer with every delay 0..tau once is the mean of uniform delays; rates that far are those of the roots."""
    delays = range(tau + 1)
    edge = root_of(lambda a: largest_root(delays, a) - 1 - 1e-12, 0.1, 3)
    assert edge == pytest.approx(limit, abs=0.005)
    for a in (0.95 * edge, 1.05 * edge):
        assert (growth(delays, a) < 1) == (a < edge)


@pytest.mark.parametrize(("n", "m"), [(2, 1), (4, 1), (4, 2), (4, 3), (4, 4)])
def test_stationary_variance_of_drawn_clients(n: int, m: int) -> None:
    """a / (2 - a) var_c (n - m) / (m (n - 1)), from the exact second moment over all buffers of different clients."""
    c = [F(v) for v in (-3, -1, 1, 3)] if n == 4 else [F(-1), F(1)]
    K, eta_l, eta = 3, F(1, 4), F(2)
    a = eta * (1 - (1 - eta_l) ** K) / K
    h = {"buffer": m, "eta_l": eta_l, "eta": eta}
    maps = []
    for S in combinations(range(n), m):
        plan = [Arrival(i, K, 0) for i in S]
        at = [end("cc-fedsgd", h, np.array([F(x)], dtype=object), pulls([1] * n, c), plan)[0] for x in (0, 1)]
        maps.append((at[1] - at[0], at[0]))
    assert {A for A, _ in maps} == {1 - a} and sum(b for _, b in maps) == 0
    # E x^2 = A^2 E x^2 + E b^2, since x and b are independent and b has mean 0.
    second = sum(b**2 for _, b in maps) / len(maps) / (1 - (1 - a) ** 2)
    assert second == a / (2 - a) * sum(v**2 for v in c) / n * F(n - m, m * (n - 1))


def test_stationary_variance_with_momentum() -> None:
    """a (1 + b) / ((1 - b) (2 (1 + b) - a)) with a = alpha (1 - beta), b = beta: the fixed point of the moments."""
    beta, eta_l, K = F(3, 4), F(1, 4), 2
    alpha = (1 - (1 - eta_l) ** K) / K
    h = {"buffer": 1, "eta_l": eta_l, "eta": F(1), "beta": beta}
    run = CATALOGUE["cc-fedavgm"].run
    assert isinstance(run, Program)
    record = run.hyper(**h)

    def move(x: F, v: F, who: int) -> tuple[F, F]:
        one = np.array([x], dtype=object)
        state = run.init(record, one, Setup((1, 1), {"w": (1,)}))  # type: ignore[union-attr]
        state = replace(state, server=replace(state.server, v=np.array([v], dtype=object)))
        state, _ = run.step(record, state, pulls([1, 1], [-1, 1]), Arrival(who, K, 0))  # type: ignore[union-attr]
        return state.x[0], state.server.v[0]

    zero, one = F(0), F(1)
    b = [move(zero, zero, who) for who in (0, 1)]
    xx, vx = (p - q for p, q in zip(move(one, zero, 0), b[0], strict=True))
    xv, vv = (p - q for p, q in zip(move(zero, one, 0), b[0], strict=True))
    noise = [sum(f(*pair) for pair in b) / 2 for f in (lambda p, q: p * p, lambda p, q: p * q, lambda p, q: q * q)]
    assert sum(p for p, _ in b) == sum(q for _, q in b) == 0
    # (E x^2, E x v, E v^2) = M (E x^2, E x v, E v^2) + noise.
    M = np.array([[xx**2, 2 * xx * xv, xv**2], [xx * vx, xx * vv + xv * vx, xv * vv], [vx**2, 2 * vx * vv, vv**2]])
    second = solve(eye(M) - M, np.array(noise, dtype=object))[0]
    a = alpha * (1 - beta)
    assert second == a * (1 + beta) / ((1 - beta) * (2 * (1 + beta) - a))


def steps_on_constant_changes(name: str, h: dict[str, Any], T: int) -> list[float]:
    """The length of each step over eta, when every change is the same."""
    push: list[Oracle] = [lambda k, x: x * 0 - 4]
    given = {"buffer": 1, "eta_l": 0.25, "eta": 1.0, "beta1": 0.9, **h}
    xs = [0.0, *(x[0] for x, _ in trace(name, given, np.array([0.0]), push, full(T, [Arrival(0, 3, 1)])))]
    return [b - a for a, b in pairwise(xs)]


def test_without_bias_correction_adam_overshoots() -> None:
    """(1 - beta^t) / sqrt(1 - gamma^t): 1 at first, 2.131 at t = 13, back to 1."""
    steps = steps_on_constant_changes("cc-fedadam", {"beta2": 0.99, "tau": 0.0}, 1500)
    assert steps[0] == pytest.approx(1, rel=1e-12)
    assert steps.index(max(steps)) == 12 and max(steps) == pytest.approx(2.131, abs=5e-4)
    for t in (2, 13, 100):
        assert steps[t - 1] == pytest.approx((1 - 0.9**t) / math.sqrt(1 - 0.99**t), rel=1e-12)
    assert steps[-1] == pytest.approx(1, abs=1e-6)


def test_adagrads_steps_rise_and_fall() -> None:
    """(1 - beta^t) / sqrt(t): 0.207 at t = 12, with momentum."""
    steps = steps_on_constant_changes("cc-fedadagrad", {"tau": 0.0}, 200)
    assert steps.index(max(steps)) == 11 and max(steps) == pytest.approx(0.207, abs=5e-4)
    for t in (1, 12, 200):
        assert steps[t - 1] == pytest.approx((1 - 0.9**t) / math.sqrt(t), rel=1e-12)


def test_ams_is_adam_while_v_grows() -> None:
    ams = steps_on_constant_changes("cc-fedams", {"beta2": 0.99, "eps": 0.0}, 50)
    assert ams == steps_on_constant_changes("cc-fedadam", {"beta2": 0.99, "tau": 0.0}, 50)


@pytest.mark.parametrize("name", ["cc-fedadagrad", "cc-fedadam", "cc-fedams"])
def test_large_epsilon_leaves_momentum_alone(name: str) -> None:
    """With eta / eps fixed and eps growing, the distance to CC-FedAvgM falls as 1 / eps."""
    plan = full(30, [Arrival(i, K, i) for i, K in enumerate(STEPS)])
    common = {"buffer": 2, "eta_l": 0.1}
    plain = end("cc-fedavgm", {**common, "eta": 0.5, "beta": 0.75}, np.array([3.0]), TWO, plan)[0]
    gaps = []
    for small in (1e3, 2e3, 4e3):
        own: dict[str, Any] = {"eta": 0.5 * small, "beta1": 0.75, "eps" if name == "cc-fedams" else "tau": small}
        if name != "cc-fedadagrad":
            own["beta2"] = 0.9
        gaps.append(end(name, {**common, **own}, np.array([3.0]), TWO, plan)[0] - plain)
    assert [a / b for a, b in pairwise(gaps)] == pytest.approx([2, 2], abs=1e-2)


@pytest.mark.parametrize("name", ["cc-fedadagrad", "cc-fedadam", "cc-fedams"])
def test_without_epsilon_the_path_does_not_know_eta_l(name: str) -> None:
    """K = 1, eps = 0, v_0 = 0: changes eta_l times a gradient have one direction, whatever eta_l (a power of two)."""
    small = {"eps": 0.0} if name == "cc-fedams" else {"tau": 0.0}
    decays = {"beta1": 0.5} if name == "cc-fedadagrad" else {"beta1": 0.5, "beta2": 0.75}
    plan = full(20, [Arrival(0, 1, 1), Arrival(1, 1, 2)])
    paths = [
        [
            x[0]
            for x, _ in trace(
                name, {"buffer": 2, "eta_l": e, "eta": 0.125, **small, **decays}, np.array([3.0]), TWO, plan
            )
        ]
        for e in (0.125, 0.5)
    ]
    assert paths[0] == pytest.approx(paths[1], rel=1e-12) and len(set(paths[0])) == 21
