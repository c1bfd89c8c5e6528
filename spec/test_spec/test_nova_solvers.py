"""FedNova under adaptive servers and with a solver for each client: numbers by hand."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F

import numpy as np
import pytest
from test_spec.control_runs import Run
from test_spec.exact import vec

from fedspec.algorithms import fednova_solvers
from fedspec.algorithms.fednova_solvers import FedNovaSolvers, State
from fedspec.contract import Case, Quadratics, Round
from fedspec.errors import ParameterError, PlanError, UnknownNameError
from fedspec.mixing.accumulation import a_norm, code_norm
from fedspec.mixing.control_variates import drift_controls
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import constant
from fedspec.readings import Solver
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


@pytest.mark.parametrize("tau", [1, 3])
def test_a_decay_of_zero_leaves_the_first_step(tau: int) -> None:
    """gamma_i >= 0 (L128): at 0 every step but the first is of length 0, and ||a_i||_1 = 1."""
    run = Run("fednova", {"eta_l": F(1, 2), "gamma": F(0), "solver": "decayed"}, [constant(vec(4))], (F(1),), vec(0))
    values = run.round((tau,))
    assert (values["tau_eff"], run.x[0]) == (1, -2)


def test_what_the_authors_code_divides_by() -> None:
    """rho = alpha = 1/2, two steps: b is 1, 3/2 and n is 3/2, 5/2, where the entries are 1, 1.

    Under the gradient 4 the client moves by -4, and the server by 2 steps of 4 / (5/2).
    """
    h = {"eta_l": F(1, 2), "mu": F(1), "rho": F(1, 2), "solver": "momentum-proximal-inside"}
    told = {"norm": "code", "tau_eff_choice": "weighted-steps"}
    for more, x in ((told, F(-16, 5)), ({**told, "norm": "entries"}, F(-4))):
        run = Run("fednova", {**h, **more}, [constant(vec(4))], (F(1),), vec(0))
        run.round((2,))
        assert run.x[0] == x


def test_three_norms_of_momentum_with_a_pull() -> None:
    """At 20 steps, rho = 0.9, alpha = 0.05: that of the code is neither that of the steps it runs nor the other."""
    numbers = {"alpha": F(1, 20), "rho": F(9, 10)}
    inside, outside = (a_norm(Solver(f"momentum-proximal-{s}"), 20, **numbers) for s in ("inside", "outside"))
    found = [round(float(n), 1) for n in (code_norm(20, **numbers), inside, outside)]
    assert found == [94.2, 22.4, 85.7]


@pytest.mark.parametrize("name", ["fednova", "fedprox", "fednova-momentum", "fednova-vr"])
def test_a_step_past_its_anchor_is_refused_by_both_numbers(name: str) -> None:
    """Each of mu and eta_l is in its own domain; of two steps at alpha = 2 the entries 1 and -1 add up to nothing."""
    more = {} if name == "fedprox" else {"solver": "proximal"}
    numbers = {"eta": F(1)} if name == "fedprox" else {"beta": F(0)} if name == "fednova-momentum" else {}
    with pytest.raises(ParameterError, match=r"mu: got 4, with eta_l = 1/2; alpha, .* is 2 and must be in \[0, 1\]"):
        Run(name, {"eta_l": F(1, 2), "mu": F(4), **numbers, **more}, [constant(vec(4))], (F(1),), vec(0)).round((2,))


@pytest.mark.parametrize("steps", [(2,), (2, 3, 4)])
def test_steps_of_too_few_or_too_many_clients_are_refused(steps: tuple[int, ...]) -> None:
    rows = np.array([[F(1)], [F(2)]], dtype=object)
    with pytest.raises(PlanError, match=f"{len(steps)} step counts for 2 clients"):
        drift_controls(rows, rows, vec(1), steps=steps, eta_l=F(1, 2))


def test_a_plan_of_everyone_goes_by_number() -> None:
    plan = Plan((2, 0, 1), (5, 6, 7), (F(1), F(2), F(3)), strategies=("a", "b", "c"))
    want = Plan((0, 1, 2), (6, 7, 5), (F(2), F(3), F(1)), strategies=("b", "c", "a"))
    assert plan.of_everyone(3) == want
    with pytest.raises(PlanError, match=r"clients \[3\] are missing"):
        plan.of_everyone(4)
    with pytest.raises(PlanError, match="client 2 is not one of"):
        plan.of_everyone(2)
