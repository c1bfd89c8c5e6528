"""``fedspec identify`` names what an implementation is, whatever it claims."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from test_judge.diagnosing import offer_of
from test_judge.support import check, fedspec, py

from fedspec_suite.diagnosis.composed import pairs, together
from fedspec_suite.diagnosis.variants import single
from fedspec_suite.measure.setting import setting_of

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]


def test_a_wrong_one_is_named() -> None:
    ran = fedspec("identify", py("wrong:forgetful"), "--json")
    (row,) = json.loads(ran.out)
    assert ran.code == 0 and not row["follows"]
    assert row["found"][0]["words"] == "all state but the model is forgotten before every event"
    assert row["found"][0]["equation"] == "" and row["found"][0]["parts"] == 1


def test_the_equations_stand_below_the_table_as_in_a_verdict() -> None:
    subject = ("mutant:fedadam-stale-v", "--only", "fedadam/server/reddi-2021")
    named = fedspec("identify", *subject).out
    judged = fedspec("check", *subject, "--law", "follows-x", "--profile", "quick").out
    block = re.search(r" +fedadam\.step\n +yours: [\s\S]+? +wanted: .+\n", judged)
    assert block is not None and block[0] in named


FIELDS = {"kind", "words", "equation", "names", "decided", "ratio", "differences", "claim"}
"""Fields of each object in a report's ``nearest_data``, as docs/diagnosis.md lists them."""


@pytest.mark.parametrize(
    ("subject", "only", "kind", "names"),
    [
        ("mutant:fedadam-stale-v", "fedadam/server/reddi-2021", "mutant", [{"mutant": "fedadam-stale-v"}]),
        (
            py("wrong:forgetful"),
            "*",
            "generic",
            [{"defect": "all state but the model is forgotten before every event"}],
        ),
        (py("wrong:sorted_blocks"), "*", "fitted", []),
    ],
)
def test_a_report_says_it_as_data(subject: str, only: str, kind: str, names: list[Any]) -> None:
    ran = check(subject, "--only", only, "--law", "follows-x")
    data = ran.rows[0]["nearest_data"][0]
    assert data.keys() == FIELDS
    assert (data["kind"], data["names"]) == (kind, names) and data["words"] in ran.rows[0]["nearest"]
    if kind == "fitted":
        assert data["decided"] is data["ratio"] is None
    else:
        assert 2 / 3 <= data["decided"] <= 1 and 0 <= data["ratio"] <= 30
        assert data["equation"] == ("fedadam.step" if kind == "mutant" else "")


def test_what_a_variant_is_made_of_is_data() -> None:
    adam = offer_of("adam", "client")
    variants = list(single(setting_of(adam)))
    assert {v.kind for v in variants} == {"reading", "mutant", "generic", "rule"}
    assert all(v.names and all(v.names) for v in variants)
    reading = next(v for v in variants if v.words.startswith("reading "))
    assert reading.names[0]["reading"] == reading.words.removeprefix("reading ") and len(reading.names[0]) > 1
    of = setting_of(adam)
    both = next(v for a, b in pairs(of, dict.fromkeys(variants, "off")) if (v := together(of, a, b)))
    assert both.kind == "composed" and len(both.names) == 2


def test_a_right_one_is_what_it_claims() -> None:
    ran = fedspec("identify", "spec", "--only", "fedavg/server", "--json")
    assert ran.code == 0
    assert [(r["claims"], r["follows"], r["found"]) for r in json.loads(ran.out)] == [
        ("mcmahan-2017", True, []),
        ("mcmahan-2017 weights=uniform", True, []),
        ("mcmahan-2017 weights=steps", True, []),
        ("mcmahan-2017 rates=rounds", True, []),
    ]


def test_what_nothing_explains_is_said() -> None:
    ran = fedspec("identify", py("wrong:sorted_blocks"), "--json")
    (row,) = json.loads(ran.out)
    assert ran.code == 1 and not row["found"]
    assert row["words"].startswith("no known variant; the numbers are those wanted, at other places")
    printed = fedspec("identify", py("wrong:sorted_blocks")).out
    assert "sorted_blocks (1)" in printed and "at other places" in " ".join(printed.split())


def test_one_that_does_not_answer_is_an_error() -> None:
    assert fedspec("identify", py("wrong:raises")).code == 2


def test_it_goes_on_after_a_subject_that_cannot_be_asked() -> None:
    ran = fedspec("identify", "cmd:/no/such/program", py("right:fedavg"), "--only", "fedavg/server", "--json")
    first, *others = json.loads(ran.out)
    assert ran.code == 2 and "/no/such/program" in first["error"] and not first["played"]
    assert [(r["follows"], r["error"]) for r in others] == [(True, "")] * 2


@pytest.mark.night
def test_what_is_unknown_counts_more_than_what_does_not_answer() -> None:
    assert fedspec("identify", py("wrong:raises"), py("wrong:sorted_blocks")).code == 1


def test_a_pattern_that_matches_nothing_is_refused() -> None:
    ran = fedspec("identify", "spec", "--only", "fedbest")
    assert ran.code == 2 and "fedbest" in ran.err
