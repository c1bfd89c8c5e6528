"""FedNova under adaptive servers and with a solver for each client: numbers by hand."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F

import numpy as np
import pytest
from test_spec.control_runs import Run, vec

from fedspec.algorithms import fednova_solvers
from fedspec.algorithms.fednova_solvers import FedNovaSolvers, State
from fedspec.contract import Case, Quadratics, Round
from fedspec.errors import PlanError, UnknownNameError
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import constant
from fedspec.reference import SUBJECT


@pytest.mark.parametrize(
    ("server", "v0", "v", "x"),
    [
        ("adam", 23, 16, F(-3, 10)),
        ("adagrad", 16, 25, F(-1, 4)),
        # Above the square and below it.
        ("yogi", F(41, 2), 16, F(-3, 10)),
        ("yogi", F(9, 2), 9, F(-3, 8)),
    ],
)
def test_an_adaptive_server_by_hand(server: str, v0: F, v: int, x: F) -> None:
    """d = (4, 2), tau = (1, 3), eta_l = 1/2: Delta = -2 * 1/2 * 3 = -3, where the mean change is -5/2; m = -3/2."""
    h = {"eta_l": F(1, 2), "eta": F(1), "beta1": F(1, 2), "tau": F(1), "v0": v0, "server": server}
    if server != "adagrad":
        h["beta2"] = F(1, 2)
    run = Run("fednova-adaptive", h, [constant(vec(4)), constant(vec(2))], (F(1), F(1)), vec(0))
    values = run.round((1, 3))
    assert (values["tau_eff"], values["delta"][0], run.state.m[0]) == (2, -3, F(-3, 2))
    assert (run.state.v[0], run.x[0]) == (v, x)


H = FedNovaSolvers(eta_l=F(1, 2), mu=F(1), rho=F(1, 2), gamma=F(1, 2))
TWO = [constant(vec(3)), constant(vec(-1))]


def plan(strategies: Sequence[str]) -> Plan:
    return Plan((0, 1), (2, 2), (F(1), F(2)), strategies=tuple(strategies))


def begun() -> State:
    return fednova_solvers.init(H, vec(0), Setup((F(1), F(2)), {"w": (1,)}))


def test_two_solvers_by_hand() -> None:
    """d = (3, -1), mean 1/3. ||a|| = 2 of SGD, 1 + 3/2 = 5/2 of momentum; in the second round they change places."""
    state, values = fednova_solvers.step(H, begun(), TWO, plan(("sgd", "momentum")))
    assert (values["tau_eff"], state.x[0]) == (F(7, 3), F(-7, 18))
    state, values = fednova_solvers.step(H, state, TWO, plan(("momentum", "sgd")))
    assert (values["tau_eff"], state.x[0]) == (F(13, 6), F(-3, 4))


def test_every_participant_needs_a_solver_of_fednova() -> None:
    with pytest.raises(PlanError, match="name the local solver of each participant"):
        fednova_solvers.step(H, begun(), TWO, plan(()))
    with pytest.raises(UnknownNameError, match="'adam'"):
        fednova_solvers.step(H, begun(), TWO, plan(("sgd", "adam")))


OPTIONS = {"weights": "uniform", "divisor": "own-steps"}


@pytest.mark.parametrize("named", [{"strategies": ("sgd",)}, {"scales": (0.5,)}, {"noise": (1.0,)}], ids=str)
def test_a_round_says_nothing_that_is_not_read(named: dict[str, tuple[object, ...]]) -> None:
    problem = Quadratics(np.ones((1, 1, 1)), np.ones((1, 1)), np.ones(1))
    case = Case(
        "vrl-sgd", "round", "own-steps", OPTIONS, "float64", {"w": np.zeros(1)}, {"eta_l": 0.5}, problem=problem
    )
    with pytest.raises(PlanError, match="this algorithm reads none"):
        SUBJECT.start(case).step(Round((0,), (1,), **named))  # type: ignore[arg-type]
