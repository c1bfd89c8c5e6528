"""A search that begins from what an earlier one found: as much seen, in less time, and nothing taken on trust."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fedspec_proofs import execution, ledger, stored
from fedspec_proofs.claim import Finding, Verdict
from fedspec_proofs.engines import Choose, Inequality, searched
from fedspec_proofs.engines.witnesses import Book, Found, recording

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.table(1)]

Point = list[int]


def point(choose: Choose) -> Point:
    return [choose.whole(0, 16) for _ in range(4)]


def sides(p: Point) -> Any:
    """Sides with one worst point in 17^4, which climbing finds; the last term is needed there alone."""
    return [(Fraction(100 - sum(abs(k - 11) for k in p)), {"most": Fraction(99), "last": Fraction(1)})]


TOP = {"top": lambda p: max(p) <= 12}
CLAIM: Inequality[Point] = Inequality(point, TOP, sides)
SPOILED: Inequality[Point] = Inequality(point, TOP, lambda p: [(left, Fraction(98)) for left, _ in sides(p)])


def ran(inequality: Inequality[Point], known: Book | None = None) -> tuple[Finding, Book, int]:
    """Finding, book, and number of instances."""
    made = [0]

    def counted(choose: Choose) -> Point:
        made[0] += 1
        return inequality.instance(choose)

    book = Book(known.found if known else {}, brief=known is not None)
    with recording(book):
        found = searched(replace(inequality, instance=counted), 1500)
    return found, book, made[0]


def test_as_much_is_seen_in_a_tenth_of_the_instances() -> None:
    first, book, many = ran(CLAIM)
    again, _, few = ran(CLAIM, book)
    assert first.verdict is again.verdict is Verdict.CHECKED
    assert first.sharpness == again.sharpness and again.sharpness is not None and again.sharpness.sharp
    assert {name: one.matters for name, one in first.dropped.items()} == {
        name: one.matters for name, one in again.dropped.items()
    }
    assert 10 * few <= many


def test_what_is_known_is_judged_anew() -> None:
    """A constant that is too small by two breaks at the instance that was nearest, though few others are looked at."""
    _, book, _ = ran(CLAIM)
    assert ran(SPOILED, book)[0].verdict is Verdict.REFUTED
    nothing = Book({name: Found(found.tried, found.met, ()) for name, found in book.found.items()})
    blind = Book(found=dict(nothing.known))
    assert ran(CLAIM, blind)[0].sharpness != ran(CLAIM, book)[0].sharpness, "and nothing is seen without it"


def spoiled(found: Found, choices: Any) -> Found:
    return replace(found, choices=tuple(choices(one) for one in found.choices if choices(one)))


@pytest.mark.parametrize("choices", [lambda one: (), lambda one: (0,) * len(one)], ids=["emptied", "zeroed"])
def test_witnesses_that_show_nothing_do_not_pass(choices: Any) -> None:
    _, book, _ = ran(CLAIM)
    _, again, _ = ran(CLAIM, book)
    assert again.lost == []
    _, less, _ = ran(CLAIM, Book(found={name: spoiled(found, choices) for name, found in book.found.items()}))
    assert len(less.lost) >= 1 and any(name.startswith("hunt but  less") for name in less.lost)


SEARCHED = ("client-centric.delay-sum", "afga.eq-15-repaired", "fed-lamb.lemma-2", "fednova.eq-182")
"""Proofs that a search looks at again, a refutation and a search, none of which takes long."""


@pytest.mark.parametrize("id", SEARCHED)
@pytest.mark.parametrize("choices", [lambda one: (), lambda one: (0,) * len(one)], ids=["emptied", "zeroed"])
def test_a_claim_whose_witnesses_are_spoiled_does_not_come_out(id: str, choices: Any) -> None:
    known = stored.load_found()[id]
    assert execution.run_one(id, book=Book(known, brief=True)).as_it_stands
    less = {name: spoiled(found, choices) for name, found in known.items()}
    outcome = execution.run_one(id, book=Book(less, brief=True))
    assert not outcome.as_it_stands and outcome.why


@pytest.mark.parametrize(
    ("word", "other", "stands"), [("1.4668", "1.5", True), ("Cauchy", "Lévy", False), ("normal", "\nnormal", False)]
)
def test_a_claim_whose_stored_evidence_has_other_words_does_not_stand(
    word: str, other: str, stands: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers may differ from run to run; who runs a claim for the first time is told its verdict alone."""
    id, record = "fedada2.proposition-10-ii-b-repaired", stored.load()["fedada2.proposition-10-ii-b-repaired"]
    assert word in record.evidence
    monkeypatch.setattr(stored, "load", lambda: {id: replace(record, evidence=record.evidence.replace(word, other))})
    (checked,), (ran_alone,) = ([*execution.run([id], again=again)] for again in (True, False))
    assert checked.as_it_stands is stands and ran_alone.as_it_stands
    assert checked.why == (
        "" if stands else f"its stored evidence has other words; renew it: {stored.COMMAND.format(id)}"
    )


def test_what_is_stored_is_of_claims_that_stand() -> None:
    known = stored.load_found()
    assert known and set(known) <= {*ledger.claims(), *ledger.variants()}
    assert all(any(found.choices for found in searches.values()) for searches in known.values())
