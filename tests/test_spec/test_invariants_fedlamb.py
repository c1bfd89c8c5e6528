"""Statements of Fed-LAMB that no law takes up: consensus, scales of single coordinates, identities of its proof."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec
from test_spec.test_fedlamb import run

from fedspec.algorithms import fedlamb, local_ams
from fedspec.algorithms.fedlamb import FedLamb
from fedspec.algorithms.local_ams import FedAms
from fedspec.arith import Array
from fedspec.client.lamb import Moments, layer_step, precondition
from fedspec.errors import ParameterError, PlanError
from fedspec.mixing.periodic import moment_maximum
from fedspec.plan import Oracle, Plan, Setup
from fedspec.problems.quadratic import QuadraticClients, constant, given

TINY = 1e-12
LAYERS = {"a": (2,), "b": (3,)}
SPLIT = (slice(0, 2), slice(2, 5))


def lamb(**changes: Any) -> FedLamb:
    plain = {"eta_l": 0.125, "beta1": 0.5, "beta2": 0.75, "eps": 0.0, "v0": 0.25, "phi": "constant"}
    return FedLamb(**{**plain, **changes})


def noise(rng: np.random.Generator, steps: int = 9, d: int = 5) -> Oracle:
    return given(list(rng.normal(size=(steps, d))))


@pytest.mark.parametrize("T", [1, 3])
def test_clients_stay_near_their_start_and_their_mean(T: int) -> None:
    """Two layers: (eta T)^2 2 from the start, 4 (1 - 1/K)^2 as much from the mean, and no more than once in the mean.

    The printed Lemma 1 has (1 - beta2) d / v_0 M^2 eta^2 phi_M^2, without T, which the gap of one round exceeds.
    """
    rng, K = np.random.default_rng(T), 4
    for _ in range(20):
        clients, x, who = [noise(rng) for _ in range(K)], rng.normal(size=5), tuple(range(K))
        mean = run(lamb(), x, clients, [(who, T)], LAYERS)[0][0].x
        ends = [run(lamb(), x, clients, [((i,), T)], LAYERS)[0][0].x for i in who]
        once = 2 * (0.125 * T) ** 2 + TINY
        apart = [float((y - mean) @ (y - mean)) for y in ends]
        assert all((y - x) @ (y - x) <= once for y in ends)
        assert max(apart) <= 4 * (1 - 1 / K) ** 2 * once and sum(apart) / K <= once
    one = run(
        FedLamb(F(9, 10), F(0), F(999, 1000), F(0), F(1), phi="constant"), vec(0), [constant(vec(1))], [((0,), 1)]
    )
    gap = one[0][0].x[0] ** 2
    assert gap == F(81, 100) > (1 - F(999, 1000)) * F(81, 100)


def test_a_coordinate_may_be_measured_in_any_unit() -> None:
    """With eps = 0, g_j times c_j and v_0 times c_j^2 leave p and the maximum's root in that unit; c a power of two."""
    rng, c = np.random.default_rng(1), 2.0 ** np.array([-3, 0, 5])
    decays = {"beta1": 0.5, "beta2": 0.75, "eps": 0.0}
    near = Moments(np.zeros(3), np.full(3, 0.25), 0)
    far, v_hat, V_hat = Moments(np.zeros(3), c**2 * 0.25, 0), np.full(3, 0.25), c**2 * 0.25
    for _ in range(4):
        g = rng.integers(-9, 10, 3).astype(float)
        (near, p), (far, q) = precondition(near, g, v_hat, **decays), precondition(far, c * g, V_hat, **decays)
        assert list(p) == list(q)
        v_hat, V_hat = moment_maximum(v_hat, near.v_i[None], clients=1), moment_maximum(V_hat, far.v_i[None], clients=1)
        assert list(c**2 * v_hat) == list(V_hat)


@pytest.mark.parametrize("program", [fedlamb, local_ams])
def test_denominators_are_bounded_and_telescope(program: Any) -> None:
    """v_0 <= v_hat <= max(v_0, largest g^2); the changes of its inverse roots add up to at most d / sqrt(v_0)."""
    rng = np.random.default_rng(3)
    for size in (0.2, 3.0):
        rows = size * rng.normal(size=(2, 4, 5))
        clients, most = [given(list(r)) for r in rows], max(0.25, float((rows**2).max()))
        h = lamb() if program is fedlamb else FedAms(0.125, 0.5, 0.75, 0.0, 0.25)
        states = run(h, rng.normal(size=5), clients, [((0, 1), 4)] * 5 + [((0,), 2)], program=program)
        seen = [np.full(5, 0.25), *(s.v_hat for s, _ in states)]
        assert all((a <= b).all() for a, b in pairwise(seen)) and (seen[-1] <= most).all()
        moved = np.array([a**-0.5 - b**-0.5 for a, b in pairwise(seen)])
        assert moved.sum() == pytest.approx((0.25**-0.5 - seen[-1] ** -0.5).sum()) and moved.sum() <= 5 / 0.5
        assert (moved**2).sum() <= 5 / 0.25


@pytest.mark.parametrize("correction", ["none", "moments"])
def test_what_is_preconditioned_is_bounded(correction: Any) -> None:
    """|m| <= (1 - beta1^t) G and |p| <= G / (sqrt(v_0) + eps), since v_hat >= v_0."""
    rng, own = np.random.default_rng(4), Moments(np.zeros(50), np.full(50, 0.04), 0)
    v_hat = 0.04 + rng.random(50)
    for t in range(1, 9):
        own, p = precondition(
            own, rng.choice((-1.0, 0.9, 1.0), 50), v_hat, beta1=0.8, beta2=0.9, eps=0.1, bias_correction=correction
        )
        assert (np.abs(own.m_i) <= 1 - 0.8**t + TINY).all()
        assert (np.abs(p) <= 1 / (0.2 + 0.1)).all()


@pytest.mark.parametrize("h", [{}, {"beta1": 0.0, "phi": "identity"}])
def test_correcting_v_changes_nothing_unless_the_maximum_binds(h: dict[str, Any]) -> None:
    """A scalar factor of v_hat turns no direction: eps = lam = 0, two steps in every round, squares that grow."""
    rng = np.random.default_rng(6)
    rows = [4.0**k * (1 + rng.random(3)) for k in range(8)]
    for v0, same in ((1e-9, True), (1000.0, False)):
        paths = []
        for sent in ("raw", "corrected"):
            numbers = lamb(**h, sent=sent, v0=v0)
            state = fedlamb.init(numbers, np.ones(3), Setup((1,), {"w": (3,)}))
            for r in range(4):
                state, _ = fedlamb.step(numbers, state, [given(rows[2 * r : 2 * r + 2])], Plan((0,), (2,), (1,)))
            paths.append(state.x)
        assert np.allclose(paths[0], paths[1], rtol=1e-9) is same


def test_under_sampling_clones_are_one_client_only_without_memory() -> None:
    clients = [lambda k, x: x - np.array([3.0, -1.0])] * 2
    for memory, same in (("reset", True), ("carried", False)):
        h = lamb(memory=memory)
        many = run(h, np.array([1.0, 2.0]), clients, [((0,), 2), ((1,), 1), ((0, 1), 2), ((1,), 2)])[-1][0].x
        one = run(h, np.array([1.0, 2.0]), clients[:1], [((0,), 2), ((0,), 1), ((0,), 2), ((0,), 2)])[-1][0].x
        assert np.allclose(many, one, rtol=1e-12) is same


def test_a_denominator_that_never_moves_plays_no_part() -> None:
    """lam = 0: where v_0 is above every square, neither v_0 nor eps matters to Fed-LAMB, and both do to Fed-AMS."""
    rng = np.random.default_rng(8)
    H = np.array([np.diag([1.0, 2, 3, 1, 2]), np.eye(5)])
    clients, x = QuadraticClients(H, rng.normal(size=(2, 5))).clients, rng.normal(size=5)
    ends: dict[Any, list[Array]] = {fedlamb: [], local_ams: []}
    for v0, eps in ((2.0**20, 0.0), (2.0**24, 0.0), (2.0**20, 7.0)):
        for program, found in ends.items():
            h = lamb(v0=v0, eps=eps) if program is fedlamb else FedAms(64.0, 0.5, 0.75, eps, v0)
            state = run(h, x, clients, [((0, 1), 2)] * 4, LAYERS, program)[-1][0]
            assert (state.v_hat == v0).all()
            found.append(state.x)
    first, *others = ends[fedlamb]
    assert all(np.allclose(first, other, rtol=1e-12) for other in others)
    first, *others = ends[local_ams]
    assert not any(np.allclose(first, other, rtol=1e-9) for other in others)


def test_no_rate_and_no_step_are_refused_and_no_round_is_the_start() -> None:
    with pytest.raises(ParameterError, match="eta_l: got 0"):
        lamb(eta_l=0.0)
    with pytest.raises(PlanError, match="steps: got 0; the number of local steps"):
        Plan((0,), (0,), (1,))
    assert list(fedlamb.init(lamb(), np.array([3.0, 4.0]), Setup((1,), {"w": (2,)})).x) == [3, 4]


def test_identities_9_and_11_of_the_proof() -> None:
    """T = 1, everybody, no correction, Gamma_i = phi / (||p_i|| (sqrt(v_hat) + eps)), k = beta1 / (1 - beta1).

    Then x + k (x - x_before) moves by -eta mean(Gamma_i g_i) - eta k mean((Gamma_i - Gamma_i of before) m_i of before).
    """
    eta, b1, eps = 0.125, 0.5, 0.25
    rng = np.random.default_rng(11)
    problem = QuadraticClients(np.stack([np.eye(5) * (1 + i) for i in range(3)]), rng.normal(size=(3, 5)))
    h = lamb(eta_l=eta, beta1=b1, eps=eps, bias_correction="none")
    start = rng.normal(size=5)
    rounds = run(h, start, problem.clients, [((0, 1, 2), 1)] * 7, LAYERS)
    x, v_hat = [start, *(s.x for s, _ in rounds)], [np.full(5, 0.25), *(s.v_hat for s, _ in rounds)]
    m = [np.zeros((3, 5)), *(values["m_i"].reshape(3, 5) for _, values in rounds)]
    Gamma = [np.zeros((3, 5))]
    for r in range(1, 8):
        below = np.sqrt(v_hat[r - 1]) + eps
        p = m[r] / below
        lengths = np.concatenate([np.linalg.norm(p[:, at], axis=1)[:, None] + 0 * p[:, at] for at in SPLIT], axis=1)
        Gamma.append(1 / (lengths * below))
    before = start
    kappa = b1 / (1 - b1)
    for r in range(1, 8):
        g = np.stack([H_i @ x[r - 1] - e_i for H_i, e_i in zip(problem.H, problem.e, strict=True)])
        moved = x[r] + kappa * (x[r] - x[r - 1]) - (x[r - 1] + kappa * (x[r - 1] - before))
        assert moved == pytest.approx((x[r] - x[r - 1]) / (1 - b1) - kappa * (x[r - 1] - before), abs=TINY)
        want = eta * (Gamma[r] * g).mean(0) + eta * kappa * ((Gamma[r] - Gamma[r - 1]) * m[r - 1]).mean(0)
        assert moved == pytest.approx(-want, abs=1e-11)
        before = x[r - 1]


def test_a_layer_never_moves_across_its_gradient() -> None:
    """<h, D h> >= 2 sqrt(k) / (1 + k) ||h|| ||D h||, k the ratio of D's ends (Kantorovich): downhill."""
    rng, worst = np.random.default_rng(12), 2.0
    for _ in range(300):
        h, D = rng.normal(size=2), rng.uniform(0.2, 5, 2)
        x = rng.normal(size=2)
        move = x - layer_step(x, D * h, eta_l=0.25)
        k = max(D) / min(D)
        ratio = move @ h / np.linalg.norm(move) / np.linalg.norm(h) / (2 * np.sqrt(k) / (1 + k))
        worst = min(worst, float(ratio))
    assert 1 - TINY <= worst < 1.01


def test_it_turns_and_translates_in_special_cases_only() -> None:
    """A turn by the triangle (3, 4, 5) is seen by an uneven v_hat, a translation by phi and by lam."""
    Q = np.array([[0.6, -0.8], [0.8, 0.6]])
    H, e, x = np.array([[[2.0, 1], [1, 1]], [[1.0, 0], [0, 3]]]), np.array([[1.0, -3], [2, 1]]), np.array([3.0, -1.0])
    plans = [((0, 1), 2)] * 3
    turned = QuadraticClients(np.stack([(T + T.T) / 2 for T in Q @ H @ Q.T]), e @ Q.T)
    for h, same in ((lamb(v0=2.0**20), True), (lamb(), False)):
        ends = [run(h, *of, plans)[-1][0].x for of in ((x, QuadraticClients(H, e).clients), (Q @ x, turned.clients))]
        assert np.allclose(Q @ ends[0], ends[1], rtol=1e-10) is same
    shift = np.array([8.0, 4.0])
    moved = QuadraticClients(H, e + np.stack([H_i @ shift for H_i in H]))
    for h, same in ((lamb(), True), (lamb(phi="identity"), False), (lamb(lam=0.5), False)):
        ends = [run(h, *of, plans)[-1][0].x for of in ((x, QuadraticClients(H, e).clients), (x + shift, moved.clients))]
        assert np.allclose(ends[0] + shift, ends[1], rtol=1e-10) is same
