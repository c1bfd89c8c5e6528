"""Statements of AFGA that no law takes up: what W = J does, sampled sums by enumeration, the server on any history."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from itertools import combinations, pairwise, product
from math import exp
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms import afga, cafga, peers
from fedspec.algorithms.afga import AdaptedAfga, Afga
from fedspec.algorithms.cafga import Cafga
from fedspec.arith import Array
from fedspec.mixing import topology
from fedspec.mixing.gossip import gossip
from fedspec.plan import Exchange, Oracle
from fedspec.problems.quadratic import constant
from fedspec.server.amsgrad import amsgrad
from fedspec.server.amsgrad import init as init_amsgrad

EXACT = np.array([F(0)], dtype=object)
TINY = 1e-12


def hyper(kind: Any = Afga, **more: Any) -> Any:
    numbers = {"eta_l": F(1, 4), "eta": F(1), "beta1": F(1, 2), "beta2": F(3, 4), "eps": F(3, 64)}
    return kind(**{**numbers, **more})


def lines(a: Sequence[Any], b: Sequence[Any]) -> list[Oracle]:
    """Clients a_i (x - b_i)."""
    return [lambda t, x, a=F(a_i), b=F(b_i): a * (x - b) for a_i, b_i in zip(a, b, strict=True)]


CLIENTS = lines(("1/5", "1/2", 2, 1), (3, 1, -2, 5))
EVERYONE = (0, 1, 2, 3)


def some(seed: int, n: int = 5) -> Array:
    return topology.random_permutations(n, 3, np.random.default_rng(seed))


def test_complete_mixing_leaves_no_disagreement() -> None:
    """W = J: one model after every exchange, whose path is that of sampled descent on the mean; whoever sends."""
    J, x = topology.complete(4, EXACT), vec("7/3")
    sets = ((0,), (1, 3), (0, 1, 2))
    want = x
    for S in sets:
        want = want - hyper().eta_l / 4 * sum(CLIENTS[i](0, want) for i in S)
    _, X = cafga.change(hyper(Cafga), x, np.stack([x] * 4), CLIENTS, Exchange((0,), sets, J))
    assert [X_i[0] for X_i in X] == [want[0]] * 4
    for senders in ((2,), (0, 3), EVERYONE):
        assert (afga.change(hyper(), x, CLIENTS, Exchange(senders, sets, J)) == want - x).all()


def test_a_round_without_steps_moves_nothing_from_rest() -> None:
    plan = Exchange((1, 2), (), topology.complete(4, EXACT))
    state, shown = afga.step(hyper(eps=F(1, 16)), init_amsgrad(vec(7)), CLIENTS, plan)
    assert (shown["delta"][0], state.m[0], state.x[0]) == (0, 0, 7)


def test_one_client_is_served_its_own_descent() -> None:
    """N = 1: Delta is I steps of gradient descent."""
    x = want = vec("7/3")
    for _ in range(3):
        want = want - F(1, 4) * CLIENTS[2](0, want)
    plan = Exchange((0,), ((0,),) * 3, topology.complete(1, EXACT))
    assert (afga.change(hyper(), x, CLIENTS[2:3], plan) == want - x).all()


def test_with_a_plain_server_it_is_gossip_pga() -> None:
    """Everybody computes and sends: the exchange before the mean does not matter."""
    W = topology.random_permutations(4, 3, np.random.default_rng(0), EXACT)
    plan, x = Exchange(EVERYONE, (EVERYONE,) * 3, W), vec("7/3")
    start = peers.Peers(np.stack([x] * 4))
    after, _ = peers.gossip_pga(peers.GossipPga(eta_l=F(1, 4)), start, CLIENTS, Exchange((), plan.computing, W))
    assert after.x.tolist() == (x + afga.change(hyper(), x, CLIENTS, plan)).tolist() * 4


def test_adapted_with_complete_mixing_is_local_descent_with_exact_means() -> None:
    """The senders descend on their mean objective; one sender alone on its own."""
    x = vec("7/3")
    for senders in ((1, 3), (2,)):
        want = x
        for _ in range(3):
            want = want - F(1, 4) * sum(CLIENTS[i](0, want) for i in senders) / len(senders)
        plan = Exchange(senders, (senders,) * 3, topology.complete(len(senders), EXACT))
        assert (afga.change_adapted(hyper(AdaptedAfga), x, CLIENTS, plan) == want - x).all()


@pytest.mark.parametrize("seed", range(6))
def test_an_exchange_lengthens_nothing(seed: int) -> None:
    """Neither the longest model nor the Frobenius norm grows; a consensus stays."""
    W, X = some(seed), np.random.default_rng(seed + 50).normal(size=(5, 3))
    after = gossip(X, W)
    assert np.linalg.norm(after, axis=1).max() <= np.linalg.norm(X, axis=1).max() + TINY
    assert np.linalg.norm(after) <= np.linalg.norm(X) + TINY
    same = np.tile(X[:1], (5, 1))
    assert gossip(same, W) == pytest.approx(same, abs=TINY)


@pytest.mark.parametrize("seed", range(6))
def test_what_passes_between_two_sets(seed: int) -> None:
    """(1/m) 1_S' W^s 1_T <= p + (1 - p) rho^s for |S| = |T| = m and p = m/n."""
    W = some(seed)
    for s, m in product((1, 2, 5), (1, 2, 4)):
        power, p = np.linalg.matrix_power(W, s), m / 5
        bound = p + (1 - p) * topology.rho(W) ** s
        for S, T in product(combinations(range(5), m), repeat=2):
            assert power[np.ix_(S, T)].sum() / m <= bound + TINY


def test_sampled_sums() -> None:
    """Lemma F.6: one step of W = J inside clusters of n = 3 sums the sampled y; all draws of m from each of K clusters.

    E |sum|^2 = (m/n)^2 |sum y|^2 + c sum |y - mean of its cluster|^2, c = m (n - m) / (n (n - 1)); the lemma's right
    side is no smaller, and the same for K = 1. The mean is m/n of the sum, whoever is drawn with whom.
    """
    y, n = (F(3), F(-1), F(5), F(2), F(2), F(-7)), 3
    for K, m in product((1, 2), (1, 2, 3)):
        clusters = tuple(tuple(range(k * n, (k + 1) * n)) for k in range(K))
        W = topology.clustered([topology.complete(n, EXACT)] * K)
        clients: list[Oracle] = [constant(vec(y_i)) for y_i in y[: K * n]]
        start, squares, sums = np.stack([vec(0)] * (K * n)), [], []
        for drawn in product(*(combinations(V, m) for V in clusters)):
            S = tuple(i for V in drawn for i in V)
            plan = Exchange(tuple(V[0] for V in clusters), (S,), W, clusters)
            # Delta is minus the sum over S times eta_l / (n K).
            total = -cafga.change(hyper(Cafga), vec(0), start, clients, plan)[0][0] * 4 * n * K
            assert total == sum(y[i] for i in S)
            squares.append(total**2)
            sums.append(total)
        whole, c = sum(y[: K * n]), F(m * (n - m), n * (n - 1))
        spread = sum((y[i] - sum(y[j] for j in V) / n) ** 2 for V in clusters for i in V)
        assert sum(sums) / len(sums) == F(m, n) * whole
        got = sum(squares) / len(squares)
        assert got == F(m, n) ** 2 * whole**2 + c * spread
        printed = F(m * (m - 1), n * (n - 1)) * whole**2 + K * c * sum(a * a for a in y[: K * n])
        assert (got == printed) if K == 1 else (got <= printed)


@pytest.mark.parametrize("size", [0.1, 2.0])
def test_sums_along_every_path_of_the_server(size: float) -> None:
    """v_hat between v and the largest Delta^2; sum |m|^2 <= sum |Delta|^2 (F.7); inverse roots telescope (F.9)."""
    h = {"eta": 1.0, "beta1": 0.75, "beta2": 0.5, "eps": 0.01}
    deltas = size * np.random.default_rng(4).normal(size=(60, 4))
    state, peak = init_amsgrad(np.zeros(4)), np.zeros(4)
    moments, roots = np.zeros(4), [np.full(4, 0.01**-0.5)]
    for delta in deltas:
        before, state = state, amsgrad(state, delta, **h)  # type: ignore[arg-type]
        peak = np.maximum(peak, delta**2)
        moments = moments + state.m**2
        roots.append((state.v_hat + 0.01) ** -0.5)
        assert (state.v_hat >= np.maximum(before.v_hat, state.v)).all() and (state.v_hat <= peak).all()
    assert (moments <= (deltas**2).sum(0)).all()
    falls = np.array([a - b for a, b in pairwise(roots)])
    assert (falls >= 0).all() and falls.sum() == pytest.approx(4 / 0.1 - roots[-1].sum())
    assert (falls**2).sum() <= 4 / 0.01


def test_decays_at_zero() -> None:
    """beta1 = 0: m = Delta; beta2 = 0: v_hat is the largest Delta^2 so far; both, once, eps tiny: a step by signs."""
    state, peak = init_amsgrad(vec(0, 0)), [F(0), F(0)]
    for delta in ((4, -1), (-3, 2), (1, 0)):
        state = amsgrad(state, vec(*delta), eta=F(1), beta1=F(0), beta2=F(0), eps=F(0))
        peak = [max(p, F(d) ** 2) for p, d in zip(peak, delta, strict=True)]
        assert list(state.m) == list(delta) and list(state.v_hat) == peak
    once = amsgrad(init_amsgrad(np.zeros(2)), np.array([4.0, -0.5]), eta=0.25, beta1=0.0, beta2=0.0, eps=1e-18)
    assert once.x == pytest.approx([0.25, -0.25], rel=1e-15)


def test_the_server_does_not_turn_with_its_input() -> None:
    Q = np.array([[0.6, -0.8], [0.8, 0.6]])
    h = {"eta": 1.0, "beta1": 0.5, "beta2": 0.5, "eps": 0.01}
    straight, turned = (amsgrad(init_amsgrad(np.zeros(2)), d, **h).x for d in (np.ones(2), Q @ np.ones(2)))  # type: ignore[arg-type]
    assert np.abs(Q @ straight - turned).max() > 0.1


def test_the_condition_on_rho_is_enough() -> None:
    """rho <= m/(m + n): q = rho^2/(1 - rho) <= m^2/n^2 (31), and with it n (n - m)/(m^2 (n - 1)) q <= 1/n (30)."""
    for n in range(2, 40):
        for m in range(1, n + 1):
            for rho in (F(m, m + n), F(m, 2 * (m + n)), F(0)):
                q = rho**2 / (1 - rho)
                assert q <= F(m, n) ** 2 and F(n * (n - m), m * m * (n - 1)) * q <= F(1, n)


def test_the_largest_eigenvalue_of_the_recursion_stays_small() -> None:
    """(1 + 3/(4 I - 1))^I is 2 at I = 1, rises, and stays below exp(3/4) < 3."""
    values = [float((1 + F(3, 4 * steps - 1)) ** steps) for steps in range(1, 60)]
    assert values[0] == 2 and all(a < b for a, b in pairwise(values)) and values[-1] < exp(3 / 4) < 3
