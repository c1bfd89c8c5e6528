"""The specification obeys the laws: every algorithm, level and reading of the catalogue."""

from __future__ import annotations

import os
from dataclasses import replace

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

ASKED = {"canonical": ("*",), "other": ("[!f]*", "f[!a]*")}
"""Patterns of laws: the large cases of `far-*` are drawn for canonical readings here, and for all by `make soak`."""


pytestmark = pytest.mark.long


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
    obligations = [o for law in ASKED[kind] for o in judge_offer(Inside(SUBJECT), offer, cases=CASES[kind], law=law)]
    broken = [(o.id, str(o.deviation or o.reason)) for o in obligations if o.status is not Status.PASS]
    assert not broken
    assert len(obligations) >= 10 * len(offer.dtypes)
