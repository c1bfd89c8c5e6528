"""Public threads beside defects: each was opened, says what it says in our words, and speaks of that very defect."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from test_judge.support import inside

from fedspec_suite.mutants import MUTANTS, Mutant, Thread

ROOT = Path(__file__).resolve().parents[2]
CITED = [(m, thread) for m in MUTANTS.values() for thread in m.seen]
LINK = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+")

ABOUT_SOMETHING_ELSE = {
    "FedLab/issues/280": "the plain loss overwrites the proximal one, which is the reverse of proximal-only",
    "FedNova/issues/1": "asks whether a factor a_i is missing, and is answered no",
    "PFLlib/issues/160": "epochs are left out of the number of steps, a factor and not one step",
    "flower/pull/4362": "brings the correction to FedAdam alone and says nothing of its exponent",
    "FedScale/pull/162": "weighs the buffer's size against the sum of the staleness weights, not the number of clients",
    "PySyft/issues/3828": "the first client's examples enter squared and are not divided out; nothing counts twice",
    "FedTorch/issues/11": "only the loss that is logged lacks the square; the gradient is right",
    "NIID-Bench/issues/8": "the control variates begin at random, not at the model",
    "WAFFLE/issues/6": "training breaks off where the number of clients is changed; what we opened names no divisor",
}
"""Threads that once stood beside a defect, and what they say."""


@pytest.mark.parametrize(("mutant", "thread"), CITED, ids=[f"{m.id}: {t.link}" for m, t in CITED])
def test_a_thread_was_opened_and_is_restated(mutant: Mutant, thread: Thread) -> None:
    assert LINK.fullmatch(thread.link), "a discussion that anybody can open"
    assert re.fullmatch(r"[A-Z].{30,}[^.]\.", thread.says) and ". " not in thread.says, "one sentence"
    assert len(thread.says.split()) <= 25
    assert thread.says.lower().rstrip(".") not in mutant.words, "what the thread says, not what the mutant does"
    assert date.fromisoformat(thread.read) >= date(2026, 11, 23)


def test_some_are_cited_and_no_restatement_serves_two() -> None:
    assert len(CITED) >= 10
    assert max(Counter(thread.says for _, thread in CITED).values()) == 1
    assert max(Counter((m.id, thread.link) for m, thread in CITED).values()) == 1


@pytest.mark.parametrize("wrong", ABOUT_SOMETHING_ELSE)
def test_what_speaks_of_something_else_is_not_cited(wrong: str) -> None:
    assert [m.id for m, thread in CITED if thread.link.endswith(f"/{wrong}")] == []


@pytest.mark.slow
def test_the_list_shows_them() -> None:
    listed = {row["id"]: row["seen"] for row in inside("mutants", "list", "--json").rows}
    for m, thread in CITED:
        assert {"link": thread.link, "says": thread.says, "read": thread.read} in listed[m.id]
    assert sum(map(len, listed.values())) == len(CITED)


def test_no_link_stands_without_its_restatement() -> None:
    """Neither as words nor as a number, in the sources of the catalogue of defects."""
    restated = {thread.link for _, thread in CITED}
    for source in (ROOT / "judge" / "fedspec_suite" / "mutants").glob("*.py"):
        text = source.read_text(encoding="utf-8")
        assert set(found[0] for found in LINK.finditer(text)) <= restated
        assert not re.search(r"discussed for|\(threads? \d", text), source
