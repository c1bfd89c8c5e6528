"""Level server of algorithms whose servers count all clients: SCAFFOLD and FedDyn."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from test_judge.support import check, inside, py

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, ClientMessage, Messages, Offer, Session
from fedspec.errors import ContractError, FedspecError, PlanError
from fedspec.reference import SUBJECT
from fedspec.wire import decode_case, decode_event, encode
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import edited, edits, find, started

SERVED = {"scaffold": "karimireddy-2020", "feddyn": "gradient-steps"}


def first(algorithm: str) -> Scenario:
    return plain_scenario(setting_of(Offer(algorithm, "server", SERVED[algorithm])))


def small(case: Case, **changes: object) -> Case:
    return replace(case, x0={"w": np.array([0.0])}, **changes)  # type: ignore[arg-type]


def said(delta: float, control: float | None = None) -> ClientMessage:
    held = None if control is None else {"w": np.array([control])}
    return ClientMessage(7, {"w": np.array([delta])}, 5, 2, 2, held)


def test_two_of_four_clients_move_c_by_half_of_their_mean() -> None:
    case = small(first("scaffold").case, hyper={"eta": 1.0}, population=4)
    answer = SUBJECT.start(case).step(Messages((said(2.0, 1.0), said(4.0, 3.0))))
    assert (answer["x"], answer["c"]) == (np.array([3.0]), np.array([1.0]))


def test_two_of_four_clients_move_h_by_half_of_their_mean() -> None:
    session = SUBJECT.start(small(first("feddyn").case, hyper={"mu": 2.0}, population=4))
    answer = session.step(Messages((said(2.0), said(4.0))))
    assert (answer["h"], answer["x"]) == (np.array([-3.0]), np.array([4.5]))
    # Who sits out afterwards leaves h where it is.
    answer = session.step(Messages((said(0.0),)))
    assert (answer["h"], answer["x"]) == (np.array([-3.0]), np.array([6.0]))


def test_an_edit_of_a_server_by_itself_runs_in_its_own_session_alone() -> None:
    s = first("scaffold")

    def shown(session: Session) -> list[np.ndarray]:
        answer = session.step(s.events[0])
        return [answer["x"], answer["c"]]

    before, mutant = shown(SUBJECT.start(s.case)), find("scaffold-controls-by-examples")
    other = started(s.case, edits({mutant: edited(mutant)[1]}))
    between = shown(SUBJECT.start(s.case))
    x, c = shown(other)
    sent = [m for m in s.events[0].messages]  # type: ignore[union-attr]
    total = sum(m.weight for m in sent)
    want = sum(m.weight * np.concatenate([*m.control.values()]) for m in sent) / total * len(sent) / 4
    np.testing.assert_allclose(c, want, rtol=1e-15)
    assert np.array_equal(x, before[0]) and not np.allclose(c, before[1])
    assert all(map(np.array_equal, between, before))


@pytest.mark.parametrize("algorithm", SERVED)
def test_a_server_shows_what_a_server_has_and_is_given_what_it_reads(algorithm: str) -> None:
    row = CATALOGUE[algorithm]
    assert set(row.shows_at("server")) < set(row.shows) == set(row.shows_at("round"))
    assert "eta_l" not in row.numbers_at("server")
    s = first(algorithm)
    assert s.case.population == 4
    messages = [m for e in s.events if isinstance(e, Messages) for m in e.messages]
    assert all((m.control is None) == (algorithm == "feddyn") for m in messages)


@pytest.mark.parametrize("algorithm", SERVED)
def test_case_and_messages_pass_the_wire(algorithm: str) -> None:
    s = first(algorithm)
    case = decode_case(json.loads(json.dumps(encode(s.case))))
    assert case.population == 4
    for event in s.events:
        there = decode_event(json.loads(json.dumps(encode(event))))
        assert repr(there) == repr(event)


def test_a_message_need_not_hold_a_control_in_json() -> None:
    body = encode(first("feddyn").events[0])
    for message in body["messages"]:
        assert message.pop("control") is None
    there = decode_event(body)
    assert isinstance(there, Messages) and there.messages[0].control is None


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True])
def test_a_population_that_is_none_is_refused_on_the_wire(value: object) -> None:
    body = {**encode(first("feddyn").case), "population": value}
    with pytest.raises(ContractError, match=r"case\.population"):
        decode_case(body)


@pytest.mark.parametrize("value", [None, 0, True, 2.0])
def test_a_server_that_counts_all_needs_their_number(value: object) -> None:
    with pytest.raises(ContractError, match=r"case\.population: .*give their number"):
        SUBJECT.start(replace(first("scaffold").case, population=value))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("algorithm", "sent", "words"),
    [
        ("scaffold", [said(1.0)], "control: a message holds none"),
        ("scaffold", [said(1.0, 1.0), said(1.0)], "control: a message holds none"),
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


@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("weighted", ("'weighted'", "level 'server'", "known there: karimireddy-2020, option-1")),
        ("clients_too", ("intermediates", "'c_i'", "known: delta, c")),
    ],
)
def test_what_a_server_alone_does_not_have_is_refused(name: str, words: tuple[str, ...]) -> None:
    check(py(f"served:{name}"), "--law", "repeats").refused(*words)
