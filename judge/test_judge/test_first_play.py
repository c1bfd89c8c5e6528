"""The first play: a fault of an adapter is the headline, is found before any check, and ends the claim."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import offer_of, written
from test_judge.support import FEW, check, fedspec, py

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Begin, Case, Event, Offer, Subject
from fedspec.reference import SUBJECT
from fedspec_suite.judge.first_play import first_case, first_play
from fedspec_suite.measure.edge_cases import runs
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Obligation, Status

sys.path.insert(0, str(Path(__file__).with_name("subjects")))

import ill_mannered
import right
import wrong

FAULTS = {
    "flattened": ("follows-x", "x['w'] has shape (6,), the model's block 'w' has (2, 3); return it in that shape"),
    "transposed": ("follows-x", "x['w'] has shape (3, 2), the model's block 'w' has (2, 3); return it in that shape"),
    "missing": ("follows-x", "x has blocks ['w'], the model has ['w', 'b']; return every block of x0"),
    "integers": ("dtype", "x comes back as int64 after"),
    "nan": ("follows-x", "every number of x is nan, the claim's are finite"),
    "none": ("follows-x", "x is None, the model's blocks have (2, 3), (3,)"),
    "none_inside": ("follows-x", "x['w'] is None, the model's block 'w' has (2, 3)"),
    "no_x": ("follows-x", "returned dict with keys model; return a mapping with at least the key 'x', the model"),
    "leaks": ("isolated", "sessions share state: after"),
}


def played(subject: Subject) -> Obligation | None:
    (offer,) = subject.info.offers
    return first_play(InProcess(subject), offer)


@pytest.mark.parametrize("level", ["server", "client"])
@pytest.mark.parametrize(("fault", "told"), FAULTS.items())
def test_each_fault_is_told_with_the_place_and_the_remedy(fault: str, told: tuple[str, str], level: str) -> None:
    o = played(vars(ill_mannered)[f"{fault}_{level}"])
    assert o is not None
    law, words = told
    said = o.deviation.note if o.deviation else o.reason
    # The class of the server may share the state, too.
    whose = "" if fault in {"leaks", "nan"} else "adapter: "
    assert (o.law, said.startswith(whose), words in said) == (law, True, True), said
    assert fault != "leaks" or said.startswith(words)


def test_an_exception_is_told_with_the_line_of_the_users_code_that_raised_it() -> None:
    path = Path(ill_mannered.__file__)
    line = next(k for k, text in enumerate(path.read_text("utf-8").splitlines(), 1) if "linalg.inv" in text)
    o = played(vars(ill_mannered)["raises_server"])
    assert o is not None and o.status is Status.ERROR
    # NumPy raises it, three frames further in.
    assert o.reason == f"LinAlgError: Singular matrix (ill_mannered.py, line {line}), in round 1"


@pytest.mark.parametrize(
    ("level", "event", "when"), [("server", 2, "in round 2"), ("client", 1, "in step 1"), ("trace", 2, "in arrival 2")]
)
def test_an_exception_is_told_with_its_event(level: str, event: int, when: str) -> None:
    o = played(ill_mannered.raising_in(level, event))
    assert o is not None and o.reason.endswith(f"), {when}"), o.reason
    o = played(ill_mannered.raising_in(level, 0))
    assert o is not None and o.reason.endswith("), when the session started"), o.reason


def test_the_headline_is_all_that_is_said_and_no_name_is_looked_for(tmp_path: Path) -> None:
    report = tmp_path / "r.jsonl"
    asked = ("--profile", "quick", "--jobs", "1", "--report", str(report))
    ran = fedspec("check", py("ill_mannered:transposed_server"), *asked, cases=FEW)
    assert ran.code == 1 and "searching for a known" not in ran.err
    said = " ".join(ran.out.split())
    assert f"fedadam: adapter: {FAULTS['transposed'][1]}" in said
    row = json.loads(report.read_text(encoding="utf-8"))
    assert (row["required"], row["nearest"], row["properties"]) == (1, "", {}) and row["unasked"] > 5


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((1.0, np.nan), "round 2: every number of x is nan"),
        ((np.inf,), "round 1: every number of x is infinite"),
        # The first wrong number is that of the first round, and the checks tell it.
        ((1.5, np.nan), ""),
    ],
)
def test_a_model_without_a_finite_number_is_told_unless_an_earlier_one_is_wrong(
    values: tuple[float, ...], said: str
) -> None:
    def start(case: Case) -> Any:
        inner, factors = SUBJECT.start(case), iter((*values, *[1.0] * 9))

        def step(e: Event) -> Any:
            x, by = inner.step(e)["x"], next(factors)
            return {"x": x * by if np.isfinite(by) else np.full_like(x, by)}

        return SimpleNamespace(step=step)

    o = played(written(offer_of("fedadam", "server", intermediates=()), start))
    d = o and o.deviation
    assert (d is not None and f"{d.where}: {d.note}".startswith(said)) == bool(said)


def test_a_model_of_nan_alone_has_a_name() -> None:
    ran = fedspec("check", py("ill_mannered:from_zero"), "--profile", "quick", "--jobs", "1")
    said = " ".join(ran.out.split())
    assert "adam: t stands for t + 1; first seen in step 1: every number of x is nan" in said
    assert "wanted: t = t + 1" in said and ran.err.count("Warning") == 0


def test_a_fault_that_is_expected_ends_nothing(tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    file.write_text('[[expect]]\noffer = "fedadam/server"\nlaw = "isolated"\nreason = "one process"\n')
    asked = ("--expect", str(file), "--law", "isolated,follows-*,rate,mean")
    (row,) = check(py("ill_mannered:leaks_server"), *asked, explained=False, cases=1).rows
    assert row["required"] > 3


def test_what_follows_or_refuses_or_is_merely_wrong_passes() -> None:
    for subject in (right.fedyogi, right.adam, right.sm3, wrong.uniform, wrong.zero, wrong.random, wrong.single):
        assert played(subject) is None, subject.info
    assert first_play(InProcess(wrong.honest_one_at_a_time), wrong.honest_one_at_a_time.info.offers[0]) is None


def test_every_algorithm_plays_its_first_case_at_every_level() -> None:
    for row in CATALOGUE.values():
        for level in row.levels:
            offer = Offer(row.id, level, row.readings_at(level)[0].name)
            s = first_case(setting_of(offer))
            assert runs(s), (row.id, level)
            assert first_play(InProcess(SUBJECT), offer) is None, (row.id, level)


def hiding(offer: Offer, hidden: str) -> Subject:
    """The specification that returns what the offer lists, without one name; at a beginning x alone."""

    def start(case: Case) -> Any:
        inner = SUBJECT.start(case)

        def step(e: Event) -> Any:
            answer, names = inner.step(e), () if isinstance(e, Begin) else offer.intermediates
            return {n: answer[n] for n in ("x", *names) if n in answer and n != hidden}

        return SimpleNamespace(step=step)

    return written(offer, start)


def shown(offer: Offer) -> list[set[str]]:
    """Names that the specification returns in each event of the first case, beside its beginnings."""
    s = first_case(setting_of(offer))
    session = SUBJECT.start(s.case)
    answers = [(e, set(session.step(e))) for e in s.events]
    return [names for e, names in answers if not isinstance(e, Begin)]


@pytest.mark.slow
def test_a_declared_intermediate_that_does_not_come_back_is_missed_if_the_rule_shows_it() -> None:
    sometimes = set()
    for row in CATALOGUE.values():
        for level in row.levels:
            offer = Offer(row.id, level, row.readings_at(level)[0].name, intermediates=row.shows_at(level))
            assert played(hiding(offer, "")) is None, (row.id, level)
            sometimes |= {row.id for names in shown(offer) if not {*offer.intermediates} <= names}
            for name in offer.intermediates:
                o = played(hiding(offer, name))
                assert o is not None and o.deviation is not None and o.law == "follows-" + name.replace("_", "-")
                words = f"adapter: the answer has no {name}; return it from `step`, or leave it out of `intermediates`"
                assert o.deviation.note == words, (row.id, level)
    assert sometimes == {"fedbuff", "cc-fedadagrad", "cc-fedams"}


def test_all_missing_intermediates_are_told_at_once_and_no_name_is_looked_for(tmp_path: Path) -> None:
    report = tmp_path / "r.jsonl"
    asked = ("--profile", "quick", "--jobs", "1", "--report", str(report))
    ran = fedspec("check", py("ill_mannered:hides_both"), *asked, cases=FEW)
    assert ran.code == 1 and "searching for a known" not in ran.err
    told = "fedadam: adapter: the answer has no m or v; return them from `step`, or leave them out of"
    assert told in " ".join(ran.out.split())
    row = json.loads(report.read_text(encoding="utf-8"))
    assert (row["required"], row["nearest"], row["properties"]) == (1, "", {})
    # The check of the model alone needs no intermediate.
    (row,) = check(py("ill_mannered:hides_both"), "--law", "follows-x", explained=False, cases=FEW).rows
    assert row["verdict"] == "asked in part"


@pytest.mark.parametrize(("factor", "follows"), [("1", True), ("2", False)])
def test_a_type_that_is_not_kept_says_nothing_of_a_rule_that_was_not_compared(
    factor: str, follows: bool, tmp_path: Path
) -> None:
    """The check of the type alone is asked: whether the model follows is looked up, not taken for granted."""
    (tmp_path / "wide.py").write_text(WIDE.format(factor), encoding="utf-8")
    ran = fedspec("check", "wide.py", "--law", "dtype", "--profile", "quick", "--jobs", "1", cwd=tmp_path, cases=FEW)
    assert ran.code == 1 and "x comes back as float64 from float32" in " ".join(ran.out.split())
    assert ("follows the claimed reading" in " ".join(ran.out.split())) == follows
    assert ("searching for a known" in ran.err) != follows


WIDE = """
from fedspec.contract import Claim, Info


class Session:
    def __init__(self, case):
        self.eta, self.x = case.hyper["eta"], {{n: a.astype("float64") for n, a in case.x0.items()}}

    def step(self, event):
        whole = sum(m.weight for m in event.messages)
        for m in event.messages:
            for n in self.x:
                self.x[n] = self.x[n] + {} * self.eta * m.weight / whole * m.delta[n].astype("float64")
        return {{"x": self.x}}


class Adapter:
    info = Info("wide", "1", (Claim("fedavg", "server", "mcmahan-2017", {{"weights": "examples"}}),))
    start = Session
"""
