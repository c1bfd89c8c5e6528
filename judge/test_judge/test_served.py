"""Servers that count all clients, and servers that weigh clients by their local steps."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from test_judge.support import check, inside, py

from fedspec.algorithms.fedavg import FedAvg, server
from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, ClientMessage, Messages, Offer
from fedspec.errors import ContractError, FedspecError, PlanError, UnknownNameError
from fedspec.mixing.weighted import shares
from fedspec.plan import Message
from fedspec.readings import Weighting
from fedspec.reference import SUBJECT
from fedspec.wire import decode_case, encode
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import setting_of

SERVED = {"scaffold": "karimireddy-2020", "feddyn": "gradient-steps"}


def first(algorithm: str) -> Scenario:
    return plain_scenario(setting_of(Offer(algorithm, "server", SERVED[algorithm])))


def small(case: Case, **changes: object) -> Case:
    return replace(case, x0={"w": np.array([0.0])}, **changes)  # type: ignore[arg-type]


def said(delta: float, control: float | None = None) -> ClientMessage:
    held = None if control is None else {"w": np.array([control])}
    return ClientMessage(7, {"w": np.array([delta])}, 5, 2, 2, held)


@pytest.mark.parametrize("algorithm", SERVED)
def test_a_server_shows_what_a_server_has_and_is_given_what_it_reads(algorithm: str) -> None:
    row = CATALOGUE[algorithm]
    assert set(row.shows_at("server")) < set(row.shows) == set(row.shows_at("round"))
    assert "eta_l" not in row.numbers_at("server")
    s = first(algorithm)
    assert s.case.population == 4
    messages = [m for e in s.events if isinstance(e, Messages) for m in e.messages]
    assert all((m.control is None) == (algorithm == "feddyn") for m in messages)


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True])
def test_a_population_that_is_none_is_refused_on_the_wire(value: object) -> None:
    body = {**encode(first("feddyn").case), "population": value}
    with pytest.raises(ContractError, match=r"case\.population"):
        decode_case(body)


@pytest.mark.parametrize("value", [None, 0, True, 2.0])
def test_a_server_that_counts_all_needs_their_number(value: object) -> None:
    with pytest.raises(ContractError, match=r"case\.population: .*needs the number of all clients"):
        SUBJECT.start(replace(first("scaffold").case, population=value))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("algorithm", "sent", "words"),
    [
        ("scaffold", [said(1.0)], "control: a message has none"),
        ("scaffold", [said(1.0, 1.0), said(1.0)], "control: a message has none"),
        ("feddyn", [said(1.0, 1.0)], r"messages\[0\]\.control: this algorithm reads none"),
        ("feddyn", [said(1.0)] * 3, "3 clients take part, but the population has 2"),
        ("scaffold", [replace(said(1.0), control={"v": np.array([1.0])})], r"blocks: got \['v'\]"),
    ],
)
def test_messages_that_do_not_fit_are_refused(algorithm: str, sent: list[ClientMessage], words: str) -> None:
    session = SUBJECT.start(small(first(algorithm).case, population=2))
    with pytest.raises((PlanError, ContractError), match=words):
        session.step(Messages(tuple(sent)))


def test_a_server_that_counts_participants_reads_no_control() -> None:
    s = plain_scenario(setting_of(Offer("fedavg", "server", "mcmahan-2017")))
    with pytest.raises(FedspecError, match="control: this algorithm reads none"):
        SUBJECT.start(small(s.case)).step(Messages((said(1.0, 1.0),)))


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize("name", ["everybody", "scaffold", "option_1", "feddyn"])
def test_a_right_one_conforms(name: str) -> None:
    ran = check(py(f"served:{name}"))
    assert ran.code == 0, ran.rows[0]["first_deviation"]


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("name", "law", "words"),
    [
        ("scaffold_participants", "server-control-sums", "scaffold.c: got"),
        ("scaffold_changes", "server-control-sums", "scaffold.c: got"),
        ("feddyn_participants", "follows-h", "h is averaged over the participants"),
    ],
)
def test_a_wrong_one_is_found_and_named(name: str, law: str, words: str) -> None:
    (row,) = check(py(f"served:{name}"), "--law", "[fsu]*").rows
    failed = {o["law"] for o in row["obligations"] if o["status"] == "fail"}
    assert row["verdict"] == "does not conform" and law in failed
    # A diagnosis compares models, and the control variate is none of them.
    assert words in f"{row['nearest']} {row['first_deviation'].replace('; ', ': ')}"


@pytest.mark.slow
def test_a_mistake_that_shows_in_the_model_alone_is_told_from_one_in_what_is_shown() -> None:
    words = "in x, not in h: h is averaged over the participants at feddyn.h"
    (row,) = check(py("served:feddyn_of_two"), "--law", "follows-*").rows
    assert row["verdict"] == "does not conform" and row["nearest"].startswith(words)
    assert row["nearest_data"][0]["words"] == words.removesuffix(" at feddyn.h")
    (row,) = inside("vectors", "check", py("served:feddyn_of_two"), "--json").rows
    assert row["nearest"] == words


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
    ("steps", "words"), [((1,), "1 step counts for 2 clients"), ((1, 0), "steps"), ((1, -2), "steps")]
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
def test_a_right_one_that_counts_steps_conforms(name: str) -> None:
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
