"""Control variates, duals, memories and variance reduction on numbers worked by hand, and beside loops over clients."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.control_runs import Run, line
from test_spec.exact import vec

from fedspec.algorithms import mifa
from fedspec.errors import ParameterError, PlanError
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import QuadraticClients, constant

TWO = line(0, 2)
"""F_1 = x^2 / 2, F_2 = x^2 / 2 - 2x."""

HALF = {"eta_l": F(1, 2)}


def on_two(algorithm: str, **hyper: Any) -> Run:
    return Run(algorithm, {**HALF, **hyper}, TWO.clients, (F(1), F(1)), vec(0))


def test_scaffold_by_hand() -> None:
    run = on_two("scaffold", eta=F(1))
    first = run.round((1, 2))
    # Client 2 meets the gradients -2 and -1.
    assert run.x[0] == F(3, 4)
    assert [*first["c_i"][:, 0], first["c"][0]] == [0, F(-3, 2), F(-3, 4)]
    second = run.round((1, 2))
    # Client 1 stays; client 2 walks from 3/4 over 1 to 9/8, meeting -5/4 and -1.
    assert run.x[0] == F(15, 16)
    assert [*second["c_i"][:, 0], second["c"][0]] == [F(3, 4), F(-9, 8), F(-3, 16)]


def test_scaffold_option_1_keeps_the_gradient_at_the_model() -> None:
    values = on_two("scaffold", eta=F(1), control="gradient-at-x").round((1, 2))
    assert [*values["c_i"][:, 0], values["c"][0]] == [0, -2, -1]


def test_scaffold_counts_everybody_in_c() -> None:
    run = on_two("scaffold", eta=F(1))
    values = run.round({1: 2})
    assert run.x[0] == F(3, 2)
    assert values["c"][0] == F(-3, 4)


def test_scaffold_weighted() -> None:
    run = Run("scaffold", {**HALF, "eta": F(1), "weights": "examples"}, TWO.clients, (F(3), F(1)), vec(0))
    values = run.round((1, 2))
    assert (run.x[0], values["c"][0]) == (F(3, 8), F(-3, 8))


def test_feddyn_by_hand() -> None:
    run = on_two("feddyn", mu=F(1))
    first = run.round((1, 2))
    # Client 2 walks from 0 to 1 and stops there: -1 + mu (1 - 0) = 0.
    assert (run.x[0], first["h"][0], [*first["lam_i"][:, 0]]) == (1, F(-1, 2), [0, -1])
    second = run.round((1, 2))
    # Client 1 walks to 1/2, client 2 stays: 1 - 2 - (-1) = 0.
    assert (run.x[0], second["h"][0], [*second["lam_i"][:, 0]]) == (1, F(-1, 4), [F(1, 2), -1])


def test_feddyn_refuses_a_weight_of_zero() -> None:
    with pytest.raises(ParameterError, match="mu: got 0; FedDyn divides by it"):
        on_two("feddyn", mu=F(0))


def test_vrl_sgd_by_hand() -> None:
    run = on_two("vrl-sgd")
    values = run.round((1, 2))
    assert (run.x[0], [*values["v_i"][:, 0]]) == (F(3, 4), [F(3, 2), F(-3, 4)])
    mean = on_two("vrl-sgd", divisor="mean-steps").round((1, 2))
    assert [*mean["v_i"][:, 0]] == [1, -1]


def test_fednova_vr_by_hand() -> None:
    run = on_two("fednova-vr")
    first = run.round((1, 2))
    # d = (0, -3/2), tau_eff = 3/2.
    assert (run.x[0], first["tau_eff"], [*first["c_i"][:, 0]]) == (F(9, 16), F(3, 2), [0, 0])
    second = run.round((1, 2))
    # c = (-3/4, 3/4). Client 1 meets 9/16; client 2 meets -23/16 and, at 29/32, -35/32.
    assert [*second["c_i"][:, 0]] == [F(-3, 4), F(3, 4)]
    assert [*run.state.d[:, 0]] == [F(9, 16), F(-81, 64)]
    assert run.x[0] == F(9, 16) - F(3, 2) * F(1, 2) * (F(9, 16) - F(81, 64)) / 2


@pytest.mark.parametrize(
    ("stored", "d"), [("corrected", [F(-3, 16), F(-33, 64)]), ("uncorrected", [F(9, 16), F(-81, 64)])]
)
def test_fednova_alg2_by_hand(stored: str, d: list[F]) -> None:
    """The rounds of fednova-vr; line 13 stores the directions that clients went, with c = (-3/4, 3/4) in them."""
    run = on_two("fednova-alg2", rho=F(0), stored=stored)
    run.rounds([(1, 2), (1, 2)])
    assert [*run.state.d[:, 0]] == d
    assert run.x[0] == F(9, 16) + F(3, 4) * F(45, 128)


@pytest.mark.parametrize("name", ["vrl-sgd", "fednova-vr", "fednova-alg2"])
def test_whoever_stays_away_is_missed(name: str) -> None:
    hyper = {"rho": F(1, 2)} if name == "fednova-alg2" else {}
    with pytest.raises(PlanError, match=r"clients \[0\] are missing"):
        on_two(name, **hyper).round({1: 2})


@pytest.mark.parametrize(
    ("added", "said"),
    [("to-own", [(3, F(1, 2)), (3, F(1, 4))]), ("to-servers", [(F(5, 2), F(1, 2)), (3, F(1, 2))])],
)
def test_fedpd_by_hand(added: str, said: list[tuple[F, F]]) -> None:
    """F = y^2 / 2 - 3 y from 2, a rate of 1/2, mu = 1: the client is at 5/2, and its dual 1/2.

    From there the slopes are -1/2, the dual, and -1/2 or 0 of the pull: it goes on to 11/4, or stays.
    """
    run = Run("fedpd", {"eta_l": F(1, 2), "mu": F(1), "dual_added": added}, line(3).clients, (1,), vec(2))
    got = [(run.round((1,))["lam_i"][0][0], run.x[0]) for _ in said]
    assert got == [(lam, x) for x, lam in said]


def test_fedpd_refuses_who_is_missing_and_a_pull_of_nothing() -> None:
    with pytest.raises(ParameterError, match="mu: got 0"):
        Run("fedpd", {"eta_l": F(1, 4), "mu": F(0)}, line(4).clients, (1,), vec(7))
    with pytest.raises(PlanError, match="participants"):
        Run("fedpd", {"eta_l": F(1, 4), "mu": F(3)}, line(4, -2).clients, (1, 1), vec(7)).round({0: 1})


def test_rounds_of_scaffnew_are_what_coins_make_of_single_steps() -> None:
    """The source's loop: every client steps, then all average if the coin says 1, and h_i moves by what that did."""
    rng = np.random.default_rng(5)
    A, e = rng.normal(size=(4, 3, 3)), rng.normal(size=(4, 3))
    H = A @ A.swapaxes(1, 2) / 3 + np.eye(3) / 4
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
    run = Run("scaffnew", {"eta_l": rate, "chance": p}, QuadraticClients(H, e).clients, (1, 2, 3, 4), np.zeros(3))
    for tau, want in zip(lengths, path, strict=True):
        assert np.abs(run.rounds([(tau,) * 4]) - want).max() < 1e-12
    assert np.abs(run.state.h_i - kept).max() < 1e-11


def test_clients_of_scaffnew_share_their_coins() -> None:
    run = Run("scaffnew", {"eta_l": 1.0, "chance": 0.5}, [constant(np.ones(1))] * 2, (1, 1), np.zeros(1))
    with pytest.raises(PlanError, match=r"steps: got \(1, 2\); clients share their coins"):
        run.round((1, 2))
    with pytest.raises(PlanError, match=r"clients \[0\] are missing"):
        run.round({1: 1})


GRADIENTS = [vec(1, -2), vec(3, F(1, 2)), vec(-5, 4)]


def followed(rounds: list[tuple[tuple[int, ...], tuple[int, ...], F]]) -> list[list[F]]:
    """The models of a run on linear objectives: who takes part, with how many steps, at what rate."""
    clients = [constant(g) for g in GRADIENTS]
    state, models = mifa.init(mifa.Mifa(eta_l=F(1)), vec(0, 0), Setup(examples=(1, 2, 3), shapes={"w": (2,)})), []
    for who, steps, eta_l in rounds:
        state, _ = mifa.step(mifa.Mifa(eta_l=eta_l), state, clients, Plan(who, steps, tuple(1 + i for i in who)))
        models.append(list(state.x))
    return models


def looped(rounds: list[tuple[tuple[int, ...], tuple[int, ...], F]]) -> list[list[F]]:
    """Every number by itself: a change over its rate replaces an entry, and all entries are averaged."""
    x, table, models = [F(0), F(0)], [[F(0), F(0)] for _ in GRADIENTS], []
    for who, steps, lr in rounds:
        for i, tau in zip(who, steps, strict=True):
            y = list(x)
            for _ in range(tau):
                y = [y[j] - lr * GRADIENTS[i][j] for j in range(2)]
            table[i] = [(y[j] - x[j]) / lr for j in range(2)]
        x = [x[j] + lr * sum(entry[j] for entry in table) / len(table) for j in range(2)]
        models.append(list(x))
    return models


@pytest.mark.parametrize(
    "rounds",
    [
        [((0, 1, 2), (1, 2, 3), F(1, 2)), ((2,), (1,), F(1, 2)), ((0,), (3,), F(1, 8)), ((1, 2), (1, 1), F(1, 4))],
        [((1,), (2,), F(1)), ((1,), (1,), F(1, 3)), ((0, 2), (2, 1), F(1, 3))],
    ],
    ids=["everybody first", "one first"],
)
def test_mifa_is_the_loop_over_a_table(rounds: list[Any]) -> None:
    assert followed(rounds) == looped(rounds)
