"""Clients that weigh by their local steps: a choice that an offer declares, and the name of a server that does so."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from test_judge.support import check, py

from fedspec.algorithms.fedavg import FedAvg, server
from fedspec.catalogue import CATALOGUE
from fedspec.errors import PlanError, UnknownNameError
from fedspec.mixing.weighted import shares
from fedspec.plan import Message
from fedspec.readings import Weighting

X = np.array([Fraction(0)])


def sent(change: int, examples: int, steps: int) -> Message:
    return Message(delta=X + change, examples=examples, steps=steps, a_norm=steps)


def test_one_who_takes_three_of_four_steps_has_three_quarters_of_the_say() -> None:
    h = FedAvg(eta_l=1, weights="steps")  # type: ignore[arg-type]
    x, _ = server(h, X, [sent(4, 100, 1), sent(8, 1, 3)])
    assert x.tolist() == [7]


def test_it_is_said_by_every_server_that_sees_steps_and_by_no_fixed_share() -> None:
    by = {a.id for a in CATALOGUE.values() if "steps" in map(str, a.options.get("weights", ()))}
    assert {"fedavg", "fedavgm", "fedprox", "fednova", "fedadam", "fedyogi", "fedadagrad", "fedams"} <= by
    assert not by & {"scaffold", "vrl-sgd", "fednova-vr", "fednova-alg2"}


@pytest.mark.parametrize(
    ("steps", "words"),
    [((1,), "1 step counts for 2 clients"), ((1, 0), "steps"), ((1, -2), "steps")],
)
def test_steps_that_are_none_are_refused(steps: tuple[int, ...], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        shares((1, 1), X, Weighting.STEPS, steps)


def test_a_share_of_all_clients_cannot_go_by_steps() -> None:
    with pytest.raises(UnknownNameError, match="weights: unknown value 'steps'; known: examples, uniform"):
        CATALOGUE["vrl-sgd"].resolve("own-steps", {"weights": "steps"})


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize("name", ["fedavg", "fednova"])
def test_a_right_one_conforms(name: str) -> None:
    ran = check(py(f"by_steps:{name}"))
    assert ran.code == 0, [r["first_deviation"] for r in ran.rows]
    assert all("weights=steps" in row["id"] for row in ran.rows)


@pytest.mark.slow
def test_who_divides_by_steps_conforms_only_if_clients_are_said_to_be_plain_sgd() -> None:
    unsaid, said = check(py("wrong:steps_unsaid")).rows
    assert (unsaid["verdict"], said["verdict"]) == ("does not conform", "conforms")


@pytest.mark.slow
def test_who_weighs_by_steps_and_claims_examples_is_told_the_option() -> None:
    (row,) = check(py("by_steps:steps_for_examples"), "--law", "[fu]*").rows
    assert row["nearest"].startswith("weights = steps at fedavg.delta")
    assert "weigh by their steps" not in row["nearest"]


@pytest.mark.slow
def test_who_weighs_by_examples_and_claims_steps_is_told_so() -> None:
    (row,) = check(py("by_steps:examples_for_steps"), "--law", "[fuw]*").rows
    assert row["verdict"] == "does not conform"
    assert "examples" in row["nearest"]
    assert {o["law"] for o in row["obligations"] if o["status"] == "fail"} >= {"follows-x"}
