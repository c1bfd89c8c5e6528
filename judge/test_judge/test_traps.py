"""Traps of the rows: the comparison with the rule refuses each trap's wrong implementation, or a reason is given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from test_judge.traps import UNREACHED, WAYS, Answer, Wrong, answers, answers_of, edits_of, pairs, wrongs

from fedspec.catalogue import CATALOGUE
from fedspec_suite.judge import runner
from fedspec_suite.mutants import parsed, texts

pytestmark = pytest.mark.table(1)

ROWS = [row for row in CATALOGUE if any(not a.why for t in CATALOGUE[row].traps for a in answers_of(row, t))]
SAMPLE = ROWS[::8]


@pytest.fixture(autouse=True)
def no_smaller_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest case is of no interest."""
    monkeypatch.setattr(runner, "SHRINKING", 0)


def played(row: str) -> Iterator[tuple[Answer, Wrong]]:
    """The wrong implementations of a row's traps."""
    for trap in CATALOGUE[row].traps:
        for answer in answers_of(row, trap):
            yield from ((answer, wrong) for wrong in wrongs(row, answer))


def reached(answer: Answer, wrong: Wrong) -> bool:
    """True if profile quick has cases that show the trap."""
    return wrong.offer.level not in UNREACHED.get(answer.needs, ())


def test_every_trap_of_every_row_has_an_answer() -> None:
    assert not [(row, trap) for row, trap in pairs() if not answers_of(row, trap)]


def test_every_answer_is_one_to_a_trap() -> None:
    stated = {(row, trap) for row, trap in pairs()}
    used = {id(answer) for row, trap in stated for answer in answers_of(row, trap)}
    assert not [answer.trap for answer in answers() if id(answer) not in used]
    assert {(row, answer.trap) for answer in answers() for row in answer.rows} <= stated


def test_an_answer_is_something_to_play_or_why_there_is_nothing() -> None:
    for answer in answers():
        said = [way for way in WAYS if getattr(answer, way)]
        assert said == ["why"] or (said and "why" not in said), answer.trap
        assert not answer.needs or answer.needs in UNREACHED, answer.trap


def test_every_mutant_is_known_and_every_edit_has_its_text() -> None:
    for row, trap in pairs():
        for answer in answers_of(row, trap):
            for mutant in edits_of(answer.on or row, answer):
                before, after = texts(mutant)
                assert parsed(before) and parsed(after) and before != after, trap


def check(row: str) -> None:
    missed = [f"{answer.trap}: {w.words}" for answer, w in played(row) if reached(answer, w) and not w.refused_by()]
    assert not missed


@pytest.mark.parametrize("row", SAMPLE)
def test_the_comparison_alone_refuses_it(row: str) -> None:
    check(row)


@pytest.mark.outside
@pytest.mark.parametrize("row", ROWS)
def test_the_comparison_alone_refuses_it_in_every_row(row: str) -> None:
    check(row)


@pytest.mark.outside
@pytest.mark.parametrize("word", UNREACHED)
def test_what_is_not_reached_yet_is_not(word: str) -> None:
    """Else the word is to be taken out of the table: with one seed a case may have it by chance."""
    rows = {row for row, trap in pairs() for answer in answers_of(row, trap) if answer.needs == word}
    there = [(a, w) for row in sorted(rows) for a, w in played(row) if a.needs == word and not reached(a, w)]
    assert any(not w.refused_by(seed) for _, w in there for seed in range(3))
