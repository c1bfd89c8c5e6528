"""Control variates: numbers worked by hand, and identities over the rules in fractions."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.control_runs import Run, line
from test_spec.exact import vec

from fedspec.arith import Array
from fedspec.errors import ParameterError, PlanError
from fedspec.mixing.accumulation import accumulation
from fedspec.mixing.control_variates import cross_client, stored_direction
from fedspec.mixing.nova import general_update
from fedspec.problems.quadratic import QuadraticClients, constant
from fedspec.readings import Solver

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


def test_feddyn_knows_the_local_minimum_when_it_is_reached() -> None:
    """With eta_l (h + mu) = 1 one step is exact: lam_i is then the gradient at y_i, as the published box calls it."""
    run = on_two("feddyn", mu=F(1))
    x = run.x
    for steps in ((1, 1), (2, 1), (1, 3)):
        lam = run.state.lam_i[:, 0]
        y = [(x[0] + lam_i + e_i) / 2 for lam_i, e_i in zip(lam, (0, 2), strict=True)]
        got = run.round(steps)["lam_i"][:, 0]
        assert [*got] == [y[0], y[1] - 2]
        x = run.x


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


def test_printed_correction_swings_between_one_and_nothing() -> None:
    """e = +-1, tau = 5, eta = 1/1000: the needed correction of the first client is 1."""
    h = {"eta_l": F(1, 1000), "rho": F(0), "stored": "corrected"}
    swing = Run("fednova-alg2", h, line(1, -1).clients, (F(1), F(1)), vec(0))
    seen = [float(swing.round((5, 5))["c_i"][0, 0]) for _ in range(5)]
    assert seen == pytest.approx([0, 0.998, 0.002, 0.996, 0.004], abs=5e-4)
    hyper = {"eta_l": F(1, 1000), "rho": F(0), "stored": "uncorrected"}
    steady = Run("fednova-alg2", hyper, line(1, -1).clients, (F(1), F(1)), vec(0))
    assert [float(steady.round((5, 5))["c_i"][0, 0]) for _ in range(5)] == pytest.approx([0, 1, 1, 1, 1], abs=3e-3)


class Watched:
    """Clients that write down the gradients they give."""

    def __init__(self, problem: QuadraticClients) -> None:
        self.met: dict[int, list[Array]] = {i: [] for i in range(len(problem.H))}
        self.clients = tuple(self.watch(i, c) for i, c in enumerate(problem.clients))

    def watch(self, i: int, client: Any) -> Any:
        def gradient(k: int, x: Array) -> Array:
            self.met[i].append(client(k, x))
            return self.met[i][-1]

        return gradient

    def directions(self, rho: F) -> Array:
        """G_i a_i / ||a_i||_1 over the gradients met since the last call."""
        out = []
        for i, met in self.met.items():
            a = accumulation(Solver.MOMENTUM, len(met), rho=rho)
            out.append(sum(a_k * g for a_k, g in zip(a, met, strict=True)) / sum(a))
            self.met[i] = []
        return np.stack(out)


@pytest.mark.parametrize("stored", ["corrected", "uncorrected"])
def test_what_the_next_correction_is_made_of(stored: str) -> None:
    """From the gradients themselves: hbar - h_i, less the present correction where it was stored with it."""
    problem = QuadraticClients(
        np.array([[[F(1), F(1, 2)], [F(1, 2), F(2)]], [[F(3), F(0)], [F(0), F(1)]]], dtype=object),
        np.array([[F(1), F(2)], [F(-1), F(3)]], dtype=object),
    )
    rho, p = F(1, 3), vec(F(3, 4), F(1, 4))
    watched = Watched(problem)
    run = Run(
        "fednova-alg2", {"eta_l": F(1, 8), "rho": rho, "stored": stored}, watched.clients, (F(3), F(1)), vec(1, -1)
    )
    before, h = run.round((3, 2))["c_i"], watched.directions(rho)
    for steps in ((1, 4), (2, 2), (3, 1)):
        now = run.round(steps)["c_i"]
        assert (now == p @ h - h - (before if stored == "corrected" else 0)).all()
        before, h = now, watched.directions(rho)


def test_the_server_does_not_see_the_correction() -> None:
    """sum p_i c_i = 0, so that the step is the same with either direction; c_i + dbar - d_i accumulates the same."""
    rng = np.random.default_rng(5)

    def stack() -> Array:
        return np.array([[F(int(v), 8) for v in row] for row in rng.integers(-16, 17, size=(3, 2))], dtype=object)

    p, x = vec(F(1, 2), F(1, 3), F(1, 6)), vec(1, 2)
    c, moved = cross_client(stack(), p), stack()
    assert (p @ c == 0).all()
    kept = np.stack([stored_direction(d, c_i) for d, c_i in zip(moved, c, strict=True)])
    one, other = (general_update(x, d, p, tau_eff=F(5, 2), eta_l=F(1, 4)) for d in (moved, kept))
    assert (one == other).all() and (moved != kept).any()
    assert (cross_client(kept, p) == c + p @ moved - moved).all()


@pytest.mark.parametrize("name", ["fednova-vr", "fednova-alg2"])
def test_on_linear_objectives_the_step_is_tau_eff_times_the_gradient(name: str) -> None:
    clients = [constant(vec(3, 1)), constant(vec(-1, 2))]
    hyper = {"eta_l": F(1, 2), "rho": F(1, 2), **({"solver": "momentum"} if name == "fednova-vr" else {})}
    run = Run(name, hyper, clients, (F(1), F(2)), vec(0, 0))
    x = vec(0, 0)
    for steps in ((1, 3), (2, 2), (4, 1)):
        values = run.round(steps)
        x = x - F(1, 2) * values["tau_eff"] * vec(F(1, 3), F(5, 3))
        assert (run.x == x).all()


@pytest.mark.parametrize("name", ["vrl-sgd", "fednova-vr", "fednova-alg2"])
def test_whoever_stays_away_is_missed(name: str) -> None:
    hyper = {"rho": F(1, 2)} if name == "fednova-alg2" else {}
    with pytest.raises(PlanError, match=r"clients \[0\] are missing"):
        on_two(name, **hyper).round({1: 2})


ROTATED = ("fednova", "fedprox", "scaffold", "feddyn", "vrl-sgd", "fednova-vr", "fednova-alg2", "fednova-sampled")


@pytest.mark.parametrize("name", [*ROTATED, "fednova-momentum"])
def test_turning_the_coordinates_turns_the_path(name: str) -> None:
    """By the angle of the triangle (3, 4, 5), exactly."""
    Q = np.array([[F(3, 5), F(-4, 5)], [F(4, 5), F(3, 5)]], dtype=object)
    H = np.array([[[F(1), F(1, 2)], [F(1, 2), F(2)]], [[F(3), F(0)], [F(0), F(1)]]], dtype=object)
    e, x = np.array([[F(1), F(2)], [F(-1), F(3)]], dtype=object), vec(1, -1)
    more = {
        "scaffold": {"eta": F(1)},
        "fedprox": {"mu": F(1)},
        "feddyn": {"mu": F(1)},
        "fednova-alg2": {"rho": F(1, 2)},
        "fednova-momentum": {"beta": F(1, 2), "solver": "momentum", "rho": F(1, 4)},
    }.get(name, {})
    straight, turned = (
        Run(name, {"eta_l": F(1, 8), **more}, problem.clients, (F(1), F(2)), start)
        for problem, start in (
            (QuadraticClients(H, e), x),
            (QuadraticClients(np.stack([Q @ H_i @ Q.T for H_i in H]), e @ Q.T), Q @ x),
        )
    )
    for steps in ((2, 3), (1, 2), (3, 1)):
        straight.round(steps)
        turned.round(steps)
        assert (turned.x == Q @ straight.x).all()
