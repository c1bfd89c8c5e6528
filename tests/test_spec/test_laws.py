"""The specification obeys the laws: every algorithm, level and reading of the catalogue."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import jaxtyping
import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Offer
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.verdict import Status

QUICK = os.environ.get("FEDSPEC_PROFILE", "full") == "quick"

CASES = {"canonical": 4, "other": 2}
"""Cases drawn for each law: `fedspec check` draws more, and other ones with another seed (`make soak`)."""


@pytest.fixture(autouse=True)
def shapes_are_checked_elsewhere() -> Iterator[None]:
    """The other tests check the shapes of every rule; here it would take half the time."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


def canonical(offer: Offer) -> bool:
    return offer.reading == CATALOGUE[offer.algorithm].readings[0].name and not offer.options


@pytest.mark.parametrize(
    "offer",
    SUBJECT.info.offers,
    ids=lambda o: "/".join([o.algorithm, o.level, o.reading, *o.options.values()]),
)
def test_every_offer_obeys_every_law(offer: Offer) -> None:
    kind = "canonical" if canonical(offer) else "other"
    if QUICK or kind == "other":
        offer = replace(offer, dtypes=("float64",))
    obligations = judge_offer(Inside(SUBJECT), offer, cases=CASES[kind])
    broken = [(o.id, str(o.deviation or o.reason)) for o in obligations if o.status is not Status.PASS]
    assert not broken
    assert len(obligations) >= 10 * len(offer.dtypes)
