"""A search that begins from what an earlier one found: as much seen, in less time, and nothing taken on trust."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fedspec_proofs import ledger, stored
from fedspec_proofs.claim import Finding, Verdict
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.search import Inequality, searched
from fedspec_proofs.engines.witnesses import Book, Found, written

pytestmark = pytest.mark.long

Point = list[int]


def point(choose: Choose) -> Point:
    return [choose.whole(0, 16) for _ in range(4)]


def sides(p: Point) -> Any:
    """One point in 17^4 is worst, and climbing finds it; the last term is needed there alone."""
    return [(Fraction(100 - sum(abs(k - 11) for k in p)), {"most": Fraction(99), "last": Fraction(1)})]


TOP = {"top": lambda p: max(p) <= 12}
CLAIM: Inequality[Point] = Inequality(point, TOP, sides)
SPOILED: Inequality[Point] = Inequality(point, TOP, lambda p: [(left, Fraction(98)) for left, _ in sides(p)])


def ran(inequality: Inequality[Point], known: Book | None = None) -> tuple[Finding, Book, int]:
    """What came out, the book, and how many instances were made."""
    made = [0]

    def counted(choose: Choose) -> Point:
        made[0] += 1
        return inequality.instance(choose)

    book = Book(known.found if known else {}, brief=known is not None)
    with written(book):
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


def test_what_is_stored_is_of_claims_that_stand() -> None:
    known = stored.load_found()
    assert known and set(known) <= {*ledger.claims(), *ledger.variants()}
    assert all(any(found.choices for found in searches.values()) for searches in known.values())
