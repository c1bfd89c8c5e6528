"""Resume: a session that is saved and restored after every event is the same run, and what it loses is named."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_judge.support import check, py

from fedspec.contract import Offer
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.verdict import Status

LAW = ("--law", "resumes")
SUBJECTS = Path(__file__).parent / "subjects"


def said(name: str) -> str:
    """The first deviation of a subject of this folder, in a process of its own; empty if it conforms."""
    (row,) = check(py(f"resuming:{name}"), *LAW, explained=False).rows
    assert {o["law"] for o in row["obligations"] if o["status"] != "skip"} <= {"resumes", "reading-requires"}
    return str(row["first_deviation"])


@pytest.mark.parametrize("name", ["right", "right_client", "diloco_whole"])
def test_a_right_one_is_the_same_run(name: str) -> None:
    assert not said(name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_m", "after restore, m is at its initial value"),
        ("no_moments", "after restore, m and v are at their initial values"),
        ("no_maximum", "after restore, v_hat is at its initial value"),
        ("zero_v", "after restore, v is zero"),
        ("stale", "after restore, m is that of one event before"),
        ("narrow", "after restore, v went through float32"),
        ("scaled", "nothing is lost, but numbers come back rounded"),
        ("mixed", "no part of the state that is lost or stale alone explains it"),
        ("loud", "saving changes what comes after"),
        ("text", "the event after restore fails: TypeError"),
        ("silent", "has no method 'save'"),
        ("module", "after a restore in a new process, m and v are at their initial values"),
        ("no_count", "t is at its initial value"),
        ("scaffold", "after restore, c_i is at its initial value"),
        ("outer", "after restore, v is at its initial value"),
        ("inner_moments", "after restore, m_i and v_i are at their initial values"),
        ("inner_count", "after restore, t is at its initial value"),
        ("replicas", "after restore, X of every client is that of the first"),
    ],
)
def test_what_a_restore_loses_is_named(name: str, words: str) -> None:
    assert words in said(name)
