"""Rates of rounds, of clients and of steps: an offer may say that its user sets them anew, and is judged on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_judge.support import SUBJECTS, check, fedspec, py

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, Gradient, Offer
from fedspec.errors import ParameterError
from fedspec.reference import SUBJECT
from fedspec.serve import load
from fedspec_suite.judge.runner import conclude, judge_offer
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.verdict import Conformity, Status

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

SERVED = {"fedexp", "fednova", "fednova-momentum"}
"""Algorithms whose server reads none of the numbers that vary."""

DIVIDING = {"q-fedavg"}
"""Algorithms whose server divides by the clients' rate: there is one rate for all."""

ROWS = [
    *(
        (a.id, at)
        for a in CATALOGUE.values()
        for at in a.levels
        if at != "client" and not (a.id in SERVED and at == "server")
    ),
    *((a.id, "client") for a in CATALOGUE.values() if "client" in a.levels and "eta_l" in a.numbers),
]


@pytest.mark.parametrize(("algorithm", "level"), ROWS)
def test_every_row_of_the_catalogue_has_rates_of_its_own(algorithm: str, level: Any) -> None:
    row = CATALOGUE[algorithm]
    solver = {"solver": "momentum"} if "solver" in row.options else {}
    rates: Any = "each" if level == "client" else "rounds"
    rates = "clients" if level == "round" and algorithm not in DIVIDING else rates
    offer = Offer(algorithm, level, row.readings[0].name, solver, dtypes=("float64",), rates=rates)
    found = judge_offer(InProcess(SUBJECT), offer, law="rates-*,schedule-*", cases=3)
    assert found and conclude(found)[0] is Conformity.CONFORMS, found


@pytest.mark.parametrize("name", ["right", "rounds", "at_server", "heavy_ball", "proximal"])
def test_a_right_one_conforms(name: str) -> None:
    (row,) = check(py(f"rated:{name}"), "--law", "[srf]*").rows
    assert row["verdict"] == "asked in part" and row["id"].endswith(f"rates={row['rates']}"), row


@pytest.mark.parametrize(
    ("names", "laws"),
    [("mean first before", {"rates-follow", "rates-linear"}), ("late in_buffer deaf", {"schedule-follows"})],
)
def test_a_wrong_one_is_found_without_reading_the_rule_too(names: str, laws: set[str]) -> None:
    for name in names.split():
        subject = load(f"{SUBJECTS / 'rated.py'}:{name}")
        found = judge_offer(InProcess(subject), subject.info.offers[0], law="rates-*,schedule-*", cases=12)
        assert {o.law for o in found if o.status is Status.FAIL} == laws, name


def test_a_verdict_names_a_wrong_one() -> None:
    (row,) = check(py("rated:mean"), "--law", "rates-*").rows
    assert row["nearest"].startswith("all clients have the mean of their rates")


@pytest.mark.parametrize("name", ["strict", "constant"])
def test_who_says_nothing_of_rates_is_sent_none(name: str) -> None:
    (row,) = check(py(f"rated:{name}")).rows
    assert row["verdict"] == "conforms"
    assert not any(o["law"].startswith(("rates", "schedule")) for o in row["obligations"])
    (row,) = fedspec("vectors", "check", py(f"rated:{name}"), "--json").rows
    assert row["verdict"] == "conforms"


def case() -> Case:
    return Case("momentum", "client", "fednova", {}, "float64", {"w": np.array([8.0])}, {"eta_l": 1.0, "rho": 0.5})


def test_each_step_takes_its_own_rate_and_the_buffer_knows_none() -> None:
    session, g = SUBJECT.start(case()), {"w": np.array([1.0])}
    assert session.step(Gradient(g))["x"] == 7.0
    assert session.step(Gradient(g, 2.0))["x"] == 4.0
    # Without one, the case's again.
    assert session.step(Gradient(g))["x"] == 2.25


def test_a_rate_that_is_none_is_refused_by_the_rule() -> None:
    with pytest.raises(ParameterError, match="eta_l"):
        SUBJECT.start(case()).step(Gradient({"w": np.array([1.0])}, -1.0))
