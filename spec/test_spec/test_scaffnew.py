"""Scaffnew by hand, and one coin at a time."""

from __future__ import annotations

import numpy as np
import pytest

from fedspec.algorithms.scaffnew import Scaffnew, init, step
from fedspec.errors import PlanError
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import QuadraticClients, constant


def all_of(n: int, steps: int = 1) -> Plan:
    return Plan(tuple(range(n)), (steps,) * n, tuple(range(1, n + 1)))


def problem(n: int = 4, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    A = rng.normal(size=(n, d, d))
    return A @ A.swapaxes(1, 2) / d + np.eye(d) / 4, rng.normal(size=(n, d))


def test_rounds_are_what_coins_make_of_single_steps() -> None:
    """The source's loop: every client steps, then all average if the coin says 1, and h_i moves by what that did."""
    H, e = problem()
    coins, p, rate = np.random.default_rng(6).random(60) < 0.3, 0.3, 0.1
    coins[-1] = True
    X, kept, path, lengths, since = np.zeros((4, 3)), np.zeros((4, 3)), [], [], 0
    for coin in coins:
        ahead = X - rate * (np.einsum("nij,nj->ni", H, X) - e - kept)
        X = np.tile(ahead.mean(axis=0), (4, 1)) if coin else ahead
        kept, since = kept + p / rate * (X - ahead), since + 1
        if coin:
            path.append(X[0])
            lengths.append(since)
            since = 0
    h = Scaffnew(eta_l=rate, chance=p)
    state = init(h, np.zeros(3), Setup((1, 2, 3, 4), {"w": (3,)}))
    for tau, want in zip(lengths, path, strict=True):
        state, _ = step(h, state, QuadraticClients(H, e).clients, all_of(4, tau))
        assert np.abs(state.x - want).max() < 1e-12
    assert np.abs(state.h_i - kept).max() < 1e-11


def test_clients_share_their_coins() -> None:
    h, clients = Scaffnew(eta_l=1.0, chance=0.5), [constant(np.ones(1))] * 2
    start = init(h, np.zeros(1), Setup((1, 1), {"w": (1,)}))
    with pytest.raises(PlanError, match=r"steps: got \(1, 2\); clients share their coins"):
        step(h, start, clients, Plan((0, 1), (1, 2), (1, 1)))
    with pytest.raises(PlanError, match=r"clients \[0\] are missing"):
        step(h, start, clients, Plan((1,), (1,), (1,)))
