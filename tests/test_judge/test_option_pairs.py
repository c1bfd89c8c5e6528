"""Every pair of an algorithm's options is asked of the specification, by laws that do not run the rule.

`fedspec check spec` offers each reading with its defaults and each option by itself. A law that is false of two options
together would refuse a right implementation that offers both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product

import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Level, Offer
from fedspec.errors import ParameterError
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.laws import PROPERTIES
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Status

Chosen = frozenset[tuple[str, str]]


def said(offer: Offer) -> Chosen:
    """The reading and every option of an offer, resolved."""
    options = CATALOGUE[offer.algorithm].resolve(offer.reading, dict(offer.options))
    return frozenset({("reading", offer.reading), *options.items()})


def pairs(offer: Offer) -> set[frozenset[tuple[str, str]]]:
    return set(map(frozenset, combinations(said(offer), 2)))


def all_offers(algorithm: str, level: Level) -> Iterator[Offer]:
    """Every reading with every choice that it leaves, but those that the rule refuses."""
    a = CATALOGUE[algorithm]
    for reading in a.readings_at(level):
        free: Mapping[str, list[str]] = {n: [*map(str, k)] for n, k in a.options.items() if n not in reading.fixes}
        for values in product(*free.values()):
            offer = Offer(algorithm, level, reading.name, dict(zip(free, values, strict=True)), dtypes=("float64",))
            try:
                SUBJECT.start(plain_scenario(setting_of(offer)).case)
            except ParameterError:
                continue
            yield offer


def unasked(algorithm: str, level: Level) -> list[Offer]:
    """Offers in which every pair of options stands that no offer of `spec` has, few of them."""
    there = [o for o in SUBJECT.info.offers if (o.algorithm, o.level) == (algorithm, level)]
    offers = list(all_offers(algorithm, level))
    left = set().union(*map(pairs, offers)) - set().union(*map(pairs, there))
    chosen = []
    while left:
        best = max(offers, key=lambda o: len(pairs(o) & left))
        left -= pairs(best)
        chosen.append(best)
    return chosen


ROWS = [(a.id, level) for a in CATALOGUE.values() if len(a.options) + (len(a.readings) > 1) > 1 for level in a.levels]


@pytest.mark.table(1)
@pytest.mark.outside
@pytest.mark.parametrize(("algorithm", "level"), ROWS)
def test_the_specification_keeps_every_law_under_every_pair_of_options(algorithm: str, level: Level) -> None:
    for offer in unasked(algorithm, level):
        shows = CATALOGUE[algorithm].shows_at(level)
        bench = replace(offer, intermediates=shows)
        found = judge_offer(Inside(SUBJECT), bench, cases=2, law=f"{PROPERTIES},repeats,isolated,dtype,inputs")
        assert found
        wrong = [(o.law, str(o.deviation)) for o in found if o.status in {Status.FAIL, Status.ERROR}]
        assert not wrong, (offer.reading, dict(offer.options), wrong)


def test_pairs_that_are_asked_already_are_not_asked_again() -> None:
    extra = unasked("vrl-sgd", "round")
    assert [(o.reading, dict(o.options)["weights"]) for o in extra] == [("mean-steps", "examples")]
    assert unasked("fedavg", "server") == []
