"""Expected failures: strict reading, what they excuse, and when they complain."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest
from test_judge.results import asked, result
from test_judge.support import fedspec, inside

from fedspec.errors import ContractError
from fedspec_suite.judge.expected_failures import Expectation, complaints, excused, read
from fedspec_suite.judge.runner import patterns_of
from fedspec_suite.measure.verdict import Conformity, Obligation, Result, Status

DAY = date(2027, 1, 15)


def entry(number: int = 1, **more: object) -> Expectation:
    return Expectation(**{"file": "e.toml", "number": number, "line": 3, "offer": "fedavg", "reason": "known", **more})  # type: ignore[arg-type]


REFUSED = [
    ("[[expect]]\noffer = 'a'\n", ("e.toml:1 (entry 1)", "no reason")),
    ("[[expect]]\noffer = 'a'\nreason = '  '\n", ("no reason",)),
    ("[[expect]]\nreason = 'b'\n", ("no claim",)),
    ("\n\n[[expect]]\noffer = 'a'\nreason = 'b'\n[[expect]]\noffer = 1\nreason = 'b'\n", ("e.toml:6", "claim: got 1")),
    ("[[expect]]\noffer = 'a'\nreason = 'b'\nwhen = 1\n", ("unknown key 'when'", "until")),
    ("[[expect]]\noffer = 'a'\nreason = 'b'\nuntil = '2027-01-01'\n", ("until: got '2027-01-01'", "without quotes")),
    ("[[expect]]\noffer = 'a'\nreason = 'b'\nuntil = 2027-01-01T00:00:00\n", ("until: got", "without quotes")),
    ("[[expect]]\noffer = 'a'\nreason = 'b'\ndtype = 'half'\n", ("'half'", "float32")),
    ("[expect]\noffer = 'a'\n", ("write entries as [[expect]]",)),
    ("expect = [1]\n", ("write entries as [[expect]]",)),
    ("[[expected]]\noffer = 'a'\n", ("'expected'", "write entries as [[expect]]")),
    ("[[expect]]\noffer = 'a\n", ("is no TOML", "at end of document", "in-your-ci.md")),
    ("a = " + "[" * 5000, ("is no TOML", "in-your-ci.md")),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_reading_is_strict(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(text)
    with pytest.raises(ContractError) as error:
        read(path)
    missing = [w for w in words if w not in str(error.value)]
    assert not missing, error.value


def test_what_is_no_text_and_what_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_bytes(b"\xff\xfe")
    inside("check", "spec", "--expect", str(tmp_path / "e.toml")).refused("no TOML in UTF-8")
    inside("check", "spec", "--expect", str(tmp_path / "no.toml")).refused("cannot read", "give a file")
    endless = inside("check", "spec", "--expect", "/dev/zero")
    endless.refused("/dev/zero", "larger than 1 MB", "give the file")
    assert "no TOML" not in endless.err


def test_all_that_an_entry_may_say(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    more = 'law = "far-*"\ndtype = "float32"\nissue = "#7"\nuntil = 2027-02-01\n'
    path.write_text(f'# why\n[[expect]]\noffer = "fedavg/server"\nreason = "because"\n{more}')
    (e,) = read(path)
    assert (e.number, e.line, e.words, e.until) == (1, 2, "because (#7)", date(2027, 2, 1))
    assert e.about(asked("far-rounds", dtype="float32"))
    assert not e.about(asked("far-rounds")) and not e.about(asked("rests", dtype="float32"))


def test_what_fails_as_expected_says_so_and_nothing_else_does() -> None:
    obligations = [
        asked("follows-x", Status.FAIL),
        asked("rests", Status.ERROR),
        asked("mean"),
        asked("rests", Status.FAIL),
    ]
    out = excused(obligations, [entry(law="follows-*"), entry(2, law="mean")], DAY)
    assert [o.status for o in out] == [Status.XFAIL, Status.ERROR, Status.PASS, Status.FAIL]
    assert out[0].reason == "known" and out[0].deviation is not None


def judged(*obligations: Obligation) -> Result:
    return result(*(), obligations=obligations, expected=(1,))


FAILED, PASSED, SKIPPED = asked("follows-x", Status.XFAIL), asked("follows-x"), asked("follows-x", Status.SKIP)
OPEN, SILENT = asked("follows-x", Status.INCONCLUSIVE), asked("follows-x", Status.ERROR)


@pytest.mark.parametrize(
    ("obligations", "law", "says"),
    [
        ((FAILED, PASSED), "*", ""),
        ((PASSED, PASSED), "*", "passes now (2 checks); delete the entry"),
        ((PASSED, PASSED), "follows-x", "passes now"),
        ((PASSED, PASSED), "rests,follows-*", "passes now"),
        ((PASSED, OPEN), "*", ""),
        ((PASSED, SILENT), "*", ""),
        ((SKIPPED,), "*", "only skipped checks are about 'fedavg'"),
        ((SKIPPED,), "follows-x", ""),
        ((asked("rests"),), "*", "no check is about 'fedavg' and law 'follows-x'"),
        ((asked("rests"),), "follows-x", ""),
        ((), "follows-x", ""),
    ],
)
def test_entries_that_excuse_nothing_complain(obligations: tuple[Obligation, ...], law: str, says: str) -> None:
    found = complaints([entry(law="follows-x")], [judged(*obligations)], DAY, only=(), law=law)
    assert bool(found) == bool(says)
    for complaint in found:
        assert str(complaint).startswith("expect: e.toml:3 (entry 1): ") and says in str(complaint)


def test_an_entry_about_a_law_that_is_asked_no_more_is_left_alone() -> None:
    """A file of yesterday still works: nothing is asked of it, and nothing is said of it until it expires."""
    old = entry(law="unanimous")
    assert not complaints([old], [judged(PASSED)], DAY, only=(), law="*")
    assert patterns_of("*", [old]) == "*"
    expired = entry(law="unanimous", until=date(2020, 1, 1))
    assert not complaints([expired], [judged(PASSED)], DAY, only=(), law="*")


def test_an_entry_about_a_property_has_it_asked() -> None:
    assert patterns_of("*", [entry(law="follows-x"), entry(2, law="client-*")]) == "*,client-*"
    assert patterns_of("follows-x", [entry(law="client-*")]) == "follows-x"
    assert patterns_of("*", [], "properties") == "*,properties"


@pytest.mark.parametrize(
    ("law", "only", "says"),
    [
        ("follows-x", (), False),
        ("*", ("fedavg/server",), False),
        ("*", None, False),
        ("*", ("fedavg",), True),
        ("follows-*", (), True),
        ("*", (), True),
    ],
)
def test_an_entry_of_which_a_part_was_asked_is_not_called_needless(
    law: str, only: tuple[str, ...] | None, says: bool
) -> None:
    found = complaints([entry(law="follows-*")], [judged(PASSED)], DAY, only=only, law=law)
    assert bool(found) is says


def test_an_entry_about_what_gave_no_answer_is_left_alone() -> None:
    lost = result(Conformity.ERROR, asked("can-be-asked", Status.ERROR), expected=(1,))
    assert not complaints([entry(law="follows-x")], [lost], DAY, only=(), law="*")


def test_an_entry_counts_up_to_its_last_day() -> None:
    until = entry(until=DAY)
    (o,) = excused([asked("follows-x", Status.FAIL)], [until], DAY)
    assert o.status is Status.XFAIL and not complaints([until], [judged(o)], DAY, only=(), law="*")
    (o,) = excused([asked("follows-x", Status.FAIL)], [until], date(2027, 1, 16))
    assert o.status is Status.FAIL
    (said,) = complaints([until], [judged(o)], date(2027, 1, 16), only=(), law="*")
    assert "expired on 2027-01-15" in str(said) and "give a later" in str(said)


EXPECT = """
[[expect]]
claim = "sm3-ii/client"
law = "follows-x"
reason = "1e-8 inside the root"
"""
FEW = ("--profile", "quick", "--jobs", "1")
NARROW = ("mutant:adagrad-stale", *FEW, "--law", "follows-x", "--only", "adagrad/client/fedada2")


@pytest.mark.slow
def test_the_command_counts_expected_failures_for_themselves(tmp_path: Path) -> None:
    path, report = tmp_path / "e.toml", tmp_path / "r.jsonl"
    path.write_text(EXPECT + EXPECT.replace("sm3-ii", "adagrad").replace("1e-8 inside the root", "an old sum"))
    ran = fedspec("check", *NARROW, "--expect", str(path), "--report", str(report), "--details", cases=4)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("1 of 1 claim fails as expected.\n")
    assert re.search(r"fails as expected \(2 of 2\); \d+ checks not asked", " ".join(ran.out.split()))
    assert "0/2" in ran.out and not ran.err
    assert "xfail" in ran.out and "expected: an old sum; adagrad.step" in " ".join(ran.out.split())
    row = json.loads(report.read_text())
    assert (row["verdict"], row["expected"]) == ("fails as expected", [2])
    assert [(o["status"], o["reason"]) for o in row["obligations"]] == [("xfail", "an old sum")] * 2


def test_an_entry_about_a_law_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(EXPECT.replace("follows-x", "folows-*"))
    ran = fedspec("check", "spec", "--only", "sgd", "--expect", str(path), cases=2)
    assert ran.code == 2 and f"expect: {path}:2 (entry 1): law: none is called 'folows-*'" in ran.err


def test_the_command_fails_where_an_entry_is_wrong(tmp_path: Path) -> None:
    path, report = tmp_path / "e.toml", tmp_path / "r.xml"
    path.write_text(EXPECT.replace("sm3-ii", "sgd").replace("follows-x", "dtype"))
    asked = ("check", "spec", "--profile", "quick", "--jobs", "1", "--law", "dtype", "--only", "sgd")
    ran = fedspec(*asked, "--expect", str(path), "--report", str(report), cases=2)
    assert ran.code == 1 and f"expect: {path}:2 (entry 1): everything that it excuses passes now" in ran.err
    assert ran.out.startswith("1 of 1 claim passes 1 check in quick cases;")
    assert "delete the entry" in report.read_text()
