"""Schedules of the client rate: an offer may say that its user sets the rate of every step, and is judged on it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_judge.support import check, py

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, Gradient, Offer
from fedspec.errors import ContractError, ParameterError
from fedspec.reference import SUBJECT
from fedspec.wire import decode_event, encode
from fedspec_suite.judge.runner import conclude, judge_offer
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.verdict import Conformity

pytestmark = pytest.mark.table(1)

LAW = ("--law", "schedule-*")


def case() -> Case:
    return Case("momentum", "client", "fednova", {}, "float64", {"w": np.array([8.0])}, {"eta_l": 1.0, "rho": 0.5})


def test_each_step_takes_its_own_rate_and_the_buffer_knows_none() -> None:
    session, g = SUBJECT.start(case()), {"w": np.array([1.0])}
    assert session.step(Gradient(g))["x"] == 7.0
    assert session.step(Gradient(g, 2.0))["x"] == 4.0
    # Without one, the case's again.
    assert session.step(Gradient(g))["x"] == 2.25


SOLVERS = [a.id for a in CATALOGUE.values() if "client" in a.levels and "eta_l" in a.numbers]


@pytest.mark.parametrize("algorithm", SOLVERS)
def test_every_solver_of_the_catalogue_can_be_scheduled(algorithm: str) -> None:
    offer = Offer(algorithm, "client", CATALOGUE[algorithm].readings[0].name, dtypes=("float64",), rates="each")
    found = judge_offer(Inside(SUBJECT), offer, law="schedule-*", cases=6)
    assert found and conclude(found)[0] is Conformity.CONFORMS, found


@pytest.mark.parametrize("name", ["heavy_ball", "proximal"])
def test_a_right_one_conforms(name: str) -> None:
    (row,) = check(py(f"scheduled:{name}"), "--law", "[sr]*").rows
    assert row["verdict"] == "asked in part" and row["rates"] == "each"
    assert row["id"].endswith("rates=each")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "laws"),
    [
        ("late", {"schedule-follows"}),
        ("in_buffer", {"schedule-follows"}),
        ("deaf", {"schedule-follows"}),
    ],
)
def test_a_wrong_one_is_found_without_reading_the_rule_too(name: str, laws: set[str]) -> None:
    (row,) = check(py(f"scheduled:{name}"), *LAW).rows
    assert {o["law"] for o in row["obligations"] if o["status"] == "fail"} == laws


def test_who_says_nothing_of_schedules_is_not_asked() -> None:
    (row,) = check(py("scheduled:constant"), "--law", "[sr]*,follows-x").rows
    assert row["verdict"] == "asked in part"
    assert not any(o["law"].startswith("schedule") for o in row["obligations"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fixed", ("rates", "momentum", "its rate is fixed", "leave it out")),
        ("at_server", ("rates", "fedavg", "level server", "leave it out")),
        ("word", ("rates", "'some'", "one, each")),
    ],
)
def test_rates_that_cannot_be_set_are_refused(name: str, words: tuple[str, ...]) -> None:
    check(py(f"scheduled:{name}"), *LAW).refused(*words)


@pytest.mark.parametrize("eta_l", [0.25, None])
def test_a_rate_passes_the_wire(eta_l: float | None) -> None:
    body = json.loads(json.dumps(encode(Gradient({"w": np.array([1.0])}, eta_l))))
    there = decode_event(body)
    assert isinstance(there, Gradient) and there.eta_l == eta_l
    body.pop("eta_l")
    without = decode_event(body)
    assert isinstance(without, Gradient) and without.eta_l is None


@pytest.mark.parametrize("eta_l", [0, -1.0, "0.1", True, [0.1]])
def test_a_rate_that_is_none_is_refused_on_the_wire(eta_l: object) -> None:
    with pytest.raises(ContractError, match=r"event\.eta_l"):
        decode_event({"type": "gradient", "g": {"w": [1.0]}, "eta_l": eta_l})


def test_a_rate_that_is_none_is_refused_by_the_rule() -> None:
    with pytest.raises(ParameterError, match="eta_l"):
        SUBJECT.start(case()).step(Gradient({"w": np.array([1.0])}, -1.0))
