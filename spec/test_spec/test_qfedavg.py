"""q-FedAvg by hand and in a plain loop, what its clients say beside their change, and powers in every arithmetic."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import sympy
import z3
from test_spec.exact import vec

from fedspec.algorithms.q_fedavg import QFedAvg, server
from fedspec.arith import digits, power
from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, Offer, Quadratics
from fedspec.errors import InexactError, PlanError, ShapeError
from fedspec.plan import Message, Plan
from fedspec.population import losses
from fedspec.problems.quadratic import QuadraticClients, constant
from fedspec.reference import SUBJECT
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.running_error import Running64
from fedspec_suite.measure.setting import setting_of


def moved(changes: list[list[Any]], F_i: list[Any], *, q: Any, eta_l: Any = F(1, 2), examples: Any = None) -> list[F]:
    """Server's model after one round, from 0."""
    sizes = examples or [1] * len(changes)
    sent = [Message(vec(*row), n, 1, 1, loss=F(l)) for row, n, l in zip(changes, sizes, F_i, strict=True)]
    return list(server(QFedAvg(eta_l=eta_l, q=q), vec(*changes[0]) * 0, sent)[0])


def looped(changes: list[list[Any]], F_i: list[Any], *, q: int, lr: F) -> list[F]:
    """As the authors' script has it, without its guard: old weights minus new ones, over the rate; number by number."""
    top, below = [F(0)] * len(changes[0]), F(0)
    for row, loss in zip(changes, F_i, strict=True):
        grads = [-F(v) / lr for v in row]
        squared = F(0)
        for g in grads:
            squared += g**2
        top = [t + F(loss) ** q * g for t, g in zip(top, grads, strict=True)]
        below += q * F(loss) ** (q - 1) * squared + F(loss) ** q / lr
    return [-t / below for t in top]


CHANGES = [[1, -2], [3, F(1, 2)], [-5, 4]]


@pytest.mark.parametrize("q", [0, 1, 2, 3])
@pytest.mark.parametrize("F_i", [[1, 1, 1], [1, 4, F(1, 9)]], ids=["alike", "unlike"])
def test_it_is_the_loop_of_the_authors(q: int, F_i: list[Any]) -> None:
    assert moved(CHANGES, F_i, q=q, eta_l=F(1, 3)) == looped(CHANGES, F_i, q=q, lr=F(1, 3))


def test_a_half_power_is_a_root() -> None:
    """F = 4 and 1 with q = 1/2: d = -4, -4; h = (1/2)(1/2) 4 + 2 * 2 and (1/2) 16 + 2: 8 / 15."""
    assert moved([[1], [2]], [4, 1], q=F(1, 2)) == [F(8, 15)]


def test_a_guard_is_added_to_every_loss() -> None:
    nothing = [Message(vec(2), 1, 1, 1, loss=F(0))]
    shown = server(QFedAvg(eta_l=F(1, 2), q=2, guard=F(1, 3)), vec(0), nothing)[1]
    assert list(shown["b_i"]) == [2 * F(1, 3) * 16 + 2 * F(1, 9)]
    sent = [Message(vec(*row), 1, 1, 1, loss=F(loss)) for row, loss in zip(CHANGES, (1, 4, 9), strict=True)]
    guarded = server(QFedAvg(eta_l=F(1, 2), q=2, guard=F(1, 8)), vec(0, 0), sent)[0]
    assert list(guarded) == looped(CHANGES, [F(9, 8), F(33, 8), F(73, 8)], q=2, lr=F(1, 2))


# What a client says of its loss.


@pytest.mark.parametrize("said", [None, 0.0, -1.0, float("nan"), float("inf")])
def test_a_loss_that_has_no_power_is_refused(said: Any) -> None:
    sent = [Message(np.ones(2), 1, 1, 1, loss=1.0), Message(np.ones(2), 1, 1, 1, loss=said)]
    with pytest.raises(PlanError, match=r"^loss: "):
        server(QFedAvg(eta_l=0.5, q=1.0), np.zeros(2), sent)


def test_a_gradient_alone_says_no_loss() -> None:
    with pytest.raises(PlanError, match="a function has only gradients; give oracles with a method value"):
        losses([constant(np.ones(2))], (0,), np.zeros(2))


def test_the_value_of_a_quadratic_is_what_its_gradient_is_the_slope_of() -> None:
    """Along a line the value grows by the mean of the slopes at both ends, exactly."""
    problem = QuadraticClients(np.array([[[F(2), F(1)], [F(1), F(3)]]]), vec(1, -1)[None], vec(5))
    (client,) = problem.clients
    assert losses([client], [0], vec(0, 0)) == [5]
    x, y = vec(1, 2), vec(-3, F(1, 2))
    rise = sum((y - x) * (client(0, x) + client(0, y))) / 2
    assert losses([client], [0], y)[0] - losses([client], [0], x)[0] == rise
    with pytest.raises(ShapeError, match="f is"):
        QuadraticClients(np.ones((2, 1, 1)), np.ones((2, 1)), np.ones(1))


def test_losses_are_of_the_model_before_the_round() -> None:
    """Clients that know their objective are asked once for its value, at the server's model, and for tau gradients."""
    asked: list[Any] = []

    class Watched:
        def __call__(self, k: int, x: Any) -> Any:
            asked.append(("gradient", k, *x))
            return x * 0 + 1

        def value(self, x: Any) -> Any:
            asked.append(("value", *x))
            return F(2)

    from fedspec.algorithms.synchronous import run_round

    run: Any = CATALOGUE["q-fedavg"].run
    parts = {"local": run.local, "norm": run.norm, "server": run.server}
    run_round(QFedAvg(eta_l=F(1, 2), q=1), vec(3), [Watched()], Plan((0,), (2,), (1,)), **parts)
    assert [a for a in asked if a[0] == "value"] == [("value", 3)]
    assert [a[1] for a in asked if a[0] == "gradient"] == [0, 1]


def of(level: Any, algorithm: str = "q-fedavg") -> Any:
    return plain_scenario(setting_of(Offer(algorithm, level, CATALOGUE[algorithm].readings[0].name)))


def test_a_loss_that_is_not_read_is_refused() -> None:
    s = of("server", "fedavg")
    e = s.events[0]
    session = SUBJECT.start(s.case)
    with pytest.raises(PlanError, match=r"messages\[0\].loss: this algorithm reads none"):
        session.step(replace(e, messages=(replace(e.messages[0], loss=1.0), *e.messages[1:])))


def test_a_case_without_constants_is_refused_in_words() -> None:
    s = of("round")
    problem: Quadratics = replace(s.case.problem, f=None)
    case: Case = replace(s.case, problem=problem)
    with pytest.raises(PlanError, match="has only gradients"):
        SUBJECT.start(case).step(s.events[0])


# Powers.


@pytest.mark.parametrize(("x", "q", "want"), [(F(4), F(3, 2), 8), (F(2), -2, F(1, 4)), (9, 0.5, 3), (F(7), 0, 1)])
def test_powers_of_fractions_are_exact(x: Any, q: Any, want: Any) -> None:
    assert list(power(np.array([x], dtype=object), q)) == [want]


@pytest.mark.parametrize(("x", "q"), [(F(2), F(1, 2)), (F(4), F(1, 3)), (F(4), 0.1)])
def test_a_power_that_no_fraction_has_is_refused(x: Any, q: Any) -> None:
    with pytest.raises(InexactError):
        power(x, q)


def test_powers_of_floats_keep_their_type() -> None:
    for dtype in ("float32", "float64"):
        raised = power(np.array([4.0, 9.0], dtype=dtype), 0.5)
        assert raised.dtype == dtype
        assert raised.tolist() == [2, 3]


def test_powers_of_decimals_and_symbols() -> None:
    with digits():
        tenth = power(Decimal(2), Decimal("0.1"))
        assert abs(tenth**10 - 2) < Decimal("1e-47")
        assert power(Decimal(2), 0) == 1
    x, q = sympy.Symbol("x", positive=True), sympy.Symbol("q")
    assert power(x, q) == x**q
    assert power(x, 0.5) == sympy.sqrt(x)
    y, solver = z3.Real("y"), z3.Solver()
    solver.add(y > 0, power(y, -1) * y != 1)
    assert solver.check() == z3.unsat
    with pytest.raises(InexactError):
        power(y, 0.1)


@pytest.mark.parametrize("q", [0.1, 0.5, 1.5, 2.0, -0.9])
@pytest.mark.parametrize("x", [0.03, 1.0, 7.0, 4096.0])
def test_running_powers_bound_what_floats_give(x: float, q: float) -> None:
    """Operands that are off by up to 100 bounds; and powers by exponentials of logarithms."""
    eps = 2.0**-52
    with digits():
        raised = power(Running64(x, x), Running64(q))
    for c in (1.0, 100.0):
        for side in (-1, 1):
            there = x * (1 + side * c * eps)
            for got in (there**q, float(np.exp(q * np.log(there)))):
                with digits():
                    off = abs(Decimal(got) - raised.value)
                assert off <= Decimal(c * eps * raised.bound)
    assert not np.isfinite(power(Running64(1e-20, 1.0), Running64(q)).bound), "what may be zero has no bound"
