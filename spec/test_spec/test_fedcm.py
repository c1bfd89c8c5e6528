"""FedCM by hand, in fractions."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from test_spec.control_runs import Run, line
from test_spec.exact import vec

from fedspec.algorithms.fedcm import FedCM, init, step
from fedspec.plan import Plan, Setup
from fedspec.varying import stepped

PULLED = line(1, -3, h=(1, 3))
"""F_1 = (x - 1)^2 / 2 and F_2 = 3 (x + 1)^2 / 2, but for constants."""


@pytest.mark.parametrize("direction", ["gradient", "change"])
def test_three_rounds_of_three_steps_by_hand(direction: str) -> None:
    """Mix 0.9 of the direction and 0.1 of the gradient, from 2: the last model is given to its last digit."""
    hyper = {"eta_l": F(1, 10), "rho": F(9, 10), "direction": direction}
    run = Run("fedcm", hyper, PULLED.clients, (1, 1), vec(2))
    assert f"{float(run.rounds([(3, 3)] * 3)[0]):.5f}" == "1.23184"


def test_single_steps_by_hand() -> None:
    """The mean gradient is 2 x + 1, eta_l = rho = 1/2: D is 5/2 at 2, then 5/2 / 2 + 7/4 / 2 at 3/4."""
    run = Run("fedcm", {"eta_l": F(1, 2), "rho": F(1, 2)}, PULLED.clients, (1, 1), vec(2))
    shown = [(run.round((1, 1))["D"][0], run.x[0]) for _ in range(2)]
    assert shown == [(F(5, 2), F(3, 4)), (F(5, 2), F(-1, 2))]


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [("fedcm", {}), ("mofedsam", {"radius": F(0), "eps": F(1)}), ("mofedsam", {"radius": F(1, 4), "eps": F(1, 2)})],
)
def test_the_servers_step_is_one_along_the_new_direction(algorithm: str, more: dict[str, F]) -> None:
    """x = x - eta_g D with eta_g = eta K eta_l, where all clients take K steps: 3/4 * 3 * 1/8."""
    hyper = {"eta_l": F(1, 8), "rho": F(1, 2), "eta": F(3, 4), **more}
    run, x = Run(algorithm, hyper, PULLED.clients, (1, 1), vec(2)), F(2)
    for _ in range(3):
        x -= F(9, 32) * run.round((3, 3))["D"][0]
        assert run.x[0] == x


@pytest.mark.parametrize(("direction", "x"), [("gradient", F(-7, 4)), ("change", F(-2))])
def test_a_rate_that_is_halved_halves_what_a_gradient_moves(direction: str, x: F) -> None:
    """The gradient is 2. A step at 1 leads to -1, with D = 1; one at 1/2 goes 1/2, and along D by 1/4 or by 1/2."""
    clients = [lambda k, x: vec(2)]
    h = FedCM(eta_l=F(1), rho=F(1, 2), direction=direction)
    state = init(h, vec(0), Setup((1,), {"w": (1,)}))
    for eta_l in (F(1), F(1, 2)):
        state, _ = stepped(step, h, state, clients, Plan((0,), (1,), (1,), hyper={"eta_l": eta_l}))
    assert state.x[0] == x


def test_more_steps_go_farther_along_a_gradient_and_not_along_a_change() -> None:
    """Without slopes a direction of 1, made in one step: three steps go along it three times, or once in all."""
    for direction, far in (("gradient", F(3)), ("change", F(1))):
        clients = [lambda k, x: vec(1 if x[0] == 0 else 0)]
        run = Run("fedcm", {"eta_l": F(1), "rho": F(1, 2), "direction": direction}, clients, (1,), vec(0))
        before = run.rounds([(1,)])[0]
        assert before - run.rounds([(3,)])[0] == far / 2 * F(1, 2)
