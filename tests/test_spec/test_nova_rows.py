"""A row lists what runs: FedNova's family, by watching which functions are called."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction as F
from types import CodeType
from typing import Any

import numpy as np
import pytest
from test_spec.control_runs import Run
from test_spec.exact import vec

from fedspec.catalogue import CATALOGUE
from fedspec.errors import PlanError, WeightError
from fedspec.mixing.control_variates import drift_controls
from fedspec.mixing.nova import general_weights
from fedspec.plan import Plan
from fedspec.readings import NovaWeights, Solver
from fedspec.rules import RULES

NUMBERS = {n: 0.25 for n in ("eta_l", "eta", "mu", "rho", "gamma", "beta", "beta1", "beta2", "tau", "tau_eff", "v0")}
CLIENTS = (lambda k, x: x - 1.0, lambda k, x: x + 2.0)
FAMILY = [
    *("fednova", "fednova-momentum", "fednova-adaptive", "fednova-sampled", "fednova-vr", "fednova-alg2"),
    *("feddyn", "vrl-sgd", "scaffold", "fedavg", "fedprox"),
]


def settings() -> Iterator[Any]:
    for name in FAMILY:
        row = CATALOGUE[name]
        for reading in row.readings:
            for solver in Solver if "solver" in row.options and "solver" not in reading.fixes else [None]:
                options = row.resolve(reading.name, {} if solver is None else {"solver": solver})
                yield pytest.param(name, options, id=f"{name}-{reading.name}-{solver or ''}")


def called(run: Callable[[], object]) -> set[CodeType]:
    """The code of every function that is called."""
    seen = set()

    def watch(frame: Any, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(before)
    return seen


@pytest.mark.table(30)
@pytest.mark.parametrize(("name", "options"), [*settings()])
def test_a_row_lists_what_runs(name: str, options: dict[str, str]) -> None:
    row = CATALOGUE[name]
    hyper = {n: NUMBERS[n] for n in row.numbers_under("round", {**row.defaults(), **options})}
    run = Run(name, {**hyper, **options}, CLIENTS, (1.0, 2.0), np.ones(1))
    seen = called(lambda: run.round((2, 3)))
    idle = {
        r for said, rules in row.when.items() if said not in {f"{n}={v}" for n, v in options.items()} for r in rules
    }
    listed = {f"{r.__module__}.{r.__qualname__}" for r in row.rules if r not in idle}
    known = {**RULES, **{f"{r.__module__}.{r.__qualname__}": r for r in row.rules}}
    assert listed == {n for n, r in known.items() if inspect.unwrap(r).__code__ in seen}


def test_weights_that_do_not_sum_to_one_are_refused() -> None:
    with pytest.raises(WeightError, match="sums to"):
        general_weights(vec(F(1, 2), F(1, 4)), vec(1, 2), NovaWeights.IMPLIED)


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
