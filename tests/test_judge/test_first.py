"""What is looked at first is the first equation of the rule; a law that is left out is not cut within a word."""

from __future__ import annotations

from dataclasses import replace

from test_judge.results import HERE, asked

from fedspec_suite.judge.runner import first
from fedspec_suite.measure.verdict import Status
from fedspec_suite.report.verdicts import _listed


def test_the_rule_comes_before_cases_that_are_made_for_a_law() -> None:
    later = replace(HERE, where="round 3")
    failed = [
        asked("tie-stays", Status.FAIL),
        asked("follows-tie", Status.FAIL, deviation=HERE),
        asked("far-numbers", Status.FAIL, deviation=HERE),
        asked("follows-x", Status.FAIL, deviation=later),
    ]
    assert [o.law for o in first(failed)] == ["follows-x", "follows-tie", "far-numbers", "tie-stays"]
    assert [o.law for o in first(failed[:2])] == ["follows-tie", "tie-stays"]


def test_what_does_not_fit_ends_with_a_word() -> None:
    words = "many clients are as good as one that sends their exact mean"
    for width in range(30, 80):
        line = _listed("fails: ", [words, words + " again"], "", width)
        kept = line.removeprefix("fails: ").partition("; and 1 more")[0]
        assert kept == words or (words + " ").startswith(kept.removesuffix("...") + " ")
    assert _listed("fails: ", ["unbroken"], "", 12) == "fails: un..."
