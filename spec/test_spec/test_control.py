"""Control variates, duals and variance reduction on numbers worked by hand."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest
from test_spec.control_runs import Run, line
from test_spec.exact import vec

from fedspec.errors import ParameterError, PlanError

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
