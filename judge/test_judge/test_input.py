"""Bad input of the public functions: one family of errors, each naming the argument, the value and the remedy."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.fedavg import FedAvg
from fedspec.algorithms.fednova import FedNova
from fedspec.algorithms.fedopt import FedAdam
from fedspec.algorithms.synchronous import aggregate
from fedspec.catalogue import CATALOGUE, find
from fedspec.client.adam import adam, begin
from fedspec.client.sgd import sgd
from fedspec.contract import blocks_like
from fedspec.covers import Cover
from fedspec.domains import COUNTS, DOMAINS, check_steps, require
from fedspec.errors import (
    ContractError,
    CoverError,
    FedspecError,
    InexactError,
    MixingError,
    ParameterError,
    PlanError,
    ShapeError,
    UnknownNameError,
    WeightError,
)
from fedspec.mixing.gossip import gossip
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.params import unflatten
from fedspec.plan import Plan
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import Weighting
from fedspec.server.average import average
from fedspec_suite.measure.hyper_pools import POOLS

pytestmark = pytest.mark.table(20)

TWO, ONES = np.ones(2), np.ones((2, 2))
ADAM = {"eta_l": 0.1, "eta": 1.0, "beta1": 0.5, "beta2": 0.5, "tau": 0.1, "v0": 1.0}


def p(*weights: float) -> Any:
    return np.array(weights)


def untyped(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without the tests' own check of annotations, as a user has it."""
    return inspect.unwrap(function)


CASES: list[tuple[str, Callable[[], object], type[FedspecError], tuple[str, ...]]] = [
    ("weights below zero", lambda: weighted_mean(ONES, p(1.5, -0.5)), WeightError, ("p", "-0.5", ">= 0")),
    ("weights nan", lambda: weighted_mean(ONES, p(math.nan, 0.5)), WeightError, ("p", "nan", ">= 0")),
    ("sample size", lambda: shares([1, -2], TWO), WeightError, ("weight", "-2", ">= 0")),
    ("no examples", lambda: shares([0, 0], TWO), WeightError, ("weight", "[0, 0]", "positive")),
    ("no messages", lambda: shares([], TWO), PlanError, ("messages", "at least one")),
    ("nothing to average", lambda: aggregate((), Weighting.EXAMPLES, TWO), PlanError, ("messages", "at least one")),
    ("nobody", lambda: Plan((), (), ()), PlanError, ("participants", "at least one")),
    ("twice", lambda: Plan((1, 1), (1, 1), (1, 1)), PlanError, ("participants", "(1, 1)", "once")),
    ("lengths", lambda: Plan((0, 1), (1,), (1, 1)), PlanError, ("plan", "2 participants", "1 step", "one of each")),
    ("stranger", lambda: Plan((5,), (1,), (1,)).check_clients([0]), PlanError, ("participants", "5", "0..0")),
    ("no steps", lambda: Plan((0,), (0,), (1,)), PlanError, ("steps", "0", ">= 1")),
    ("half a step", lambda: untyped(check_steps)(1.5), PlanError, ("steps", "1.5", "whole number")),
    ("vectors", lambda: average(TWO, np.ones(3), eta=1.0), ShapeError, ("x (2,)", "delta (3,)")),
    ("stack", lambda: weighted_mean(ONES, p(0.5, 0.25, 0.25)), ShapeError, ("deltas (2, 2)", "p (3,)")),
    (
        "state",
        lambda: adam(begin(TWO), np.ones(3), eta_l=0.1, beta1=0.5, beta2=0.5, eps=0.1),
        ShapeError,
        ("state.m (2,)", "g (3,)"),
    ),
    ("stack for vector", lambda: sgd(TWO, ONES, eta_l=0.1), ShapeError, ("g (2, 2)", "x (2,)")),
    ("flat", lambda: unflatten(np.ones(3), {"w": ONES}), ShapeError, ("(3,)", "length 4")),
    ("rate of a rule", lambda: sgd(TWO, TWO, eta_l=-0.1), ParameterError, ("eta_l", "-0.1", "> 0")),
    ("rate of a record", lambda: FedAvg(eta_l=math.nan), ParameterError, ("eta_l", "nan", "> 0")),
    ("decay", lambda: FedAdam(**{**ADAM, "beta1": 1.0}), ParameterError, ("beta1", "1.0", "[0, 1)")),
    ("solver", lambda: FedNova(eta_l=0.1, solver="adam"), UnknownNameError, ("solver", "'adam'", "momentum")),  # type: ignore[arg-type]
    ("algorithm", lambda: find("fedbest"), UnknownNameError, ("algorithm", "'fedbest'", "fedsam", "fedspec list")),
    ("claim", lambda: find("adam").reading("mine"), UnknownNameError, ("reading", "'mine'", "kingma-2015")),
    ("cover", lambda: Cover(((0,), (2,)), 3), CoverError, ("cover", "1", "every coordinate")),
    ("cover range", lambda: Cover(((0, 3),), 2), CoverError, ("cover", "(0, 3)", "0..1")),
    ("empty set", lambda: Cover(((0, 1), ()), 2), CoverError, ("cover", "()", "empty")),
    ("rows", lambda: gossip(ONES, np.array([[0.5, 0.25], [0.5, 0.75]])), MixingError, ("W", "0.75", "stochastic")),
    ("columns", lambda: gossip(ONES, np.array([[0.5, 0.5], [0.75, 0.25]])), MixingError, ("W", "column", "1.25")),
    ("entries", lambda: gossip(ONES, np.array([[1.5, -0.5], [-0.5, 1.5]])), MixingError, ("W", "1.5", "[0, 1]")),
    (
        "quadratics",
        lambda: QuadraticClients(np.ones((2, 3, 3)), ONES),
        ShapeError,
        ("H (2, 3, 3)", "e (2, 2)", "[n, d, d]"),
    ),
    (
        "asymmetric",
        lambda: QuadraticClients(np.array([[[1.0, 2.0], [0.0, 1.0]]]), np.ones((1, 2))),
        ShapeError,
        ("H[0]", "symmetric", "(H + H') / 2"),
    ),
    ("answer", lambda: blocks_like({"v": TWO}, {"w": TWO}, "x"), ContractError, ("x", "'v'", "'w'", "own name")),
    ("answer shape", lambda: blocks_like(np.ones(3), {"w": TWO}, "x"), ContractError, ("x", "(3,)", "(2,)", "flat")),
    ("steps nan", lambda: untyped(check_steps)(math.nan), PlanError, ("steps", "nan")),
    ("steps word", lambda: untyped(check_steps)("many"), PlanError, ("steps", "'many'")),
    ("sample size inf", lambda: shares([math.inf, 1], TWO), WeightError, ("weight", "inf")),
    ("gossip shapes", lambda: gossip(np.ones((3, 2)), np.eye(2)), ShapeError, ("X (3, 2)", "W (2, 2)")),
    ("rate list", lambda: require("eta", [0.1]), ParameterError, ("eta", "[0.1]")),
]


@pytest.mark.parametrize(("call", "kind", "words"), [*(pytest.param(*row[1:], id=row[0]) for row in CASES)])
def test_refused_by_name(call: Callable[[], object], kind: type[FedspecError], words: tuple[str, ...]) -> None:
    with pytest.raises(FedspecError) as caught:
        call()
    assert type(caught.value) is kind
    assert isinstance(caught.value, ValueError)
    said = str(caught.value)
    assert "\n" not in said
    missing = [w for w in words if w not in said]
    assert not missing, f"{missing} not in {said}"


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, -math.inf, "0.5", None, True, np.ones(2)], ids=repr)
def test_no_hyper_parameter_is_negative_infinite_or_no_number(value: Any) -> None:
    for name in DOMAINS:
        with pytest.raises(ParameterError, match=f"^{name}: got "):
            require(name, value)


def test_a_domain_has_something_in_it() -> None:
    for name in DOMAINS:
        inside = 1 if name in COUNTS else 0.25
        require(name, inside)
        require(name, np.float32(inside))


@pytest.mark.parametrize("name", POOLS)
def test_what_cases_are_drawn_from_lies_in_its_domain(name: str) -> None:
    assert len(set(POOLS[name])) == len(POOLS[name]) >= 2
    for value in POOLS[name]:
        require(name, value)
        assert value * 2**10 == int(value * 2**10), "dyadic"


def test_every_hyper_parameter_of_the_catalogue_has_a_pool() -> None:
    assert {n for a in CATALOGUE.values() for n in a.numbers} - set(POOLS) == {"v0"}


@pytest.mark.parametrize("name", sorted(COUNTS))
@pytest.mark.parametrize("value", [-1, 0.5, 1.5])
def test_a_count_is_a_whole_number(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"^{name}: got {value}.*a whole number"):
        require(name, value)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rounding_is_no_reason_to_refuse_a_mixing_matrix(dtype: str) -> None:
    gossip(np.ones((10, 2), dtype), np.full((10, 10), 0.1, dtype))


def test_an_irrational_root_is_refused_in_rationals() -> None:
    from fractions import Fraction

    from fedspec.arith import sqrt

    with pytest.raises(InexactError, match="2 has no rational root"):
        sqrt(Fraction(2))
