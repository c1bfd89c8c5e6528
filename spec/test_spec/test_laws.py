"""The specification obeys the laws: every algorithm, level and reading of the catalogue."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Offer
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.verdict import Status

QUICK = os.environ.get("FEDSPEC_PROFILE", "full") == "quick"

SMALL = ("[!f]*", "f[!a]*")
"""Patterns of the laws without the large cases of `far-*`."""

ASKED = {
    ("canonical", "float64"): (3, ("*,properties",)),
    ("canonical", "float32"): (1, SMALL),
    ("other", "float64"): (1, SMALL),
}
"""Cases drawn for each law, and which laws: `make soak` asks all of all, on more cases and with other seeds."""


pytestmark = pytest.mark.long


def canonical(offer: Offer) -> bool:
    return offer.reading == CATALOGUE[offer.algorithm].readings[0].name and not offer.options


def offered(offer: Offer) -> Any:
    rates = [offer.rates] if offer.rates != "one" else []
    named = "/".join([offer.algorithm, offer.level, offer.reading, *offer.options.values(), *rates])
    return pytest.param(offer, id=named, marks=() if canonical(offer) else pytest.mark.long)


@pytest.mark.table(1)
@pytest.mark.parametrize("offer", [offered(offer) for offer in SUBJECT.info.offers])
def test_every_offer_obeys_every_law(offer: Offer) -> None:
    kind = "canonical" if canonical(offer) else "other"
    for dtype in ("float64",) if QUICK or kind == "other" else offer.dtypes:
        alone, (cases, laws) = replace(offer, dtypes=(dtype,)), (1, SMALL) if QUICK else ASKED[kind, dtype]
        obligations = [o for law in laws for o in judge_offer(InProcess(SUBJECT), alone, cases=cases, law=law)]
        assert not [(o.id, str(o.deviation or o.reason)) for o in obligations if o.status is not Status.PASS]
        assert len(obligations) >= 10
