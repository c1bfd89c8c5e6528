"""Buffers: an offer may say what becomes of running statistics and counters, and is judged on it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_judge.buffer_edits import EDITS, Edit, edited
from test_judge.support import check, py, standalone

from fedspec import with_buffers
from fedspec.contract import Offer
from fedspec_suite.judge.runner import conclude, judge_offer
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.verdict import Conformity, Obligation, Status

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

LAW = ("--law", "buffers-*")
OFFERS = {tuple(o.buffers.values()): o for o in with_buffers.SUBJECT.info.offers if o.algorithm == "fedavg"}
FADAM = next(o for o in with_buffers.SUBJECT.info.offers if o.algorithm == "fedadam")


def failing(found: list[Obligation]) -> set[str]:
    return {o.law for o in found if o.status is Status.FAIL}


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.words)
def test_an_edit_is_killed_by_the_law_meant_for_it_and_by_the_rule(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(with_buffers, "after", edited(edit))
    offer = replace(OFFERS[edit.claim], dtypes=("float64",))
    found = judge_offer(InProcess(with_buffers.SUBJECT), offer, law="buffers-*", cases=12)
    assert failing(found) == {"buffers-follow", *(["buffers-whole"] if edit.whole else [])}
    assert not any(o.status is Status.ERROR for o in found)


@pytest.mark.parametrize("offer", [*OFFERS.values(), FADAM], ids=lambda o: f"{o.algorithm} {o.variant}")
def test_the_specification_conforms(offer: Offer) -> None:
    found = judge_offer(InProcess(with_buffers.SUBJECT), offer, law="buffers-*", cases=6)
    asked = [o for o in found if o.status is not Status.SKIP]
    assert len(asked) >= 4 and conclude(found)[0] is Conformity.CONFORMS, found


@pytest.mark.parametrize("name", ["right", "parameters"])
def test_a_right_one_conforms_to_every_law(name: str) -> None:
    (row,) = check(py(f"carrying:{name}")).rows
    assert row["verdict"] == "conforms" and set(row["buffers"]) == {"statistics", "counters"}
    assert " buffers statistics=" in row["id"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fraction", "counters: the mean by examples, with its fraction"),
        ("in_place", "counters: 0, each count times its share cut down to a whole number"),
        ("added", "counters: the sum of all"),
        ("carried_on", "statistics: what the server's step makes of parameters"),
        ("unweighted", "statistics: reading 'uniform'"),
        ("no_buffers", "statistics: reading 'kept'; counters: reading 'kept'"),
    ],
)
def test_a_wrong_one_is_told_which_reading_it_is(name: str, words: str) -> None:
    (row,) = check(py(f"carrying:{name}"), *LAW).rows
    failed = {o["law"] for o in row["obligations"] if o["status"] == "fail"}
    assert "buffers-follow" in failed
    assert words in row["first_deviation"] and row["nearest"] == "x follows the claimed reading"


def test_a_model_that_depends_on_them_is_found() -> None:
    (row,) = check(py("carrying:clipped"), "--law", "follows-x", "--law", "buffers-*").rows
    assert {o["law"] for o in row["obligations"] if o["status"] == "fail"} == {"follows-x"}


def test_who_says_nothing_of_them_in_an_answer_is_told_what_to_return() -> None:
    (row,) = check(py("carrying:silent"), *LAW).rows
    assert row["verdict"] == "does not conform" and "return ['running_mean', 'running_var'" in row["first_deviation"]


@pytest.mark.parametrize(("fault", "law"), [("buffers", set()), ("points", {"buffers-whole"})])
def test_a_program_that_knows_json_alone_is_judged(fault: str, law: set[str]) -> None:
    """A counter that is written with a point is none."""
    (row,) = check(standalone(fault), "--only", "fedavg", "--law", "buffers-*,follows-x").rows
    assert {o["law"] for o in row["obligations"] if o["status"] == "fail"} == law
