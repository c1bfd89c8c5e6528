"""Mutants edit the text that is printed, and do there what they do in the form with options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Level, Offer
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT, session_of
from fedspec_suite import mutants
from fedspec_suite.diagnosis.cases.samples import samples_of
from fedspec_suite.measure.bench import reference
from fedspec_suite.measure.drawn import drawn
from fedspec_suite.measure.forms import Kind, form_of
from fedspec_suite.measure.printed import with_room
from fedspec_suite.measure.reach import far_scenarios
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import Mutant, mutated

pytestmark = pytest.mark.table(1)


def answers(s: Scenario, kind: Kind = "") -> str:
    """What the specification answers in a form of the row, with its error bounds, or why it refuses."""
    row = CATALOGUE[s.case.algorithm]
    own = with_room(form_of(row, s.case.level, kind)).row
    try:
        return repr(reference(s, lambda lifted: session_of(own, lifted.case.level)(own, lifted.case)))
    except FedspecError as e:
        return repr(e)


OPEN = [
    o
    for o in SUBJECT.info.offers
    if o.rates == "one"
    and (r := CATALOGUE[o.algorithm].run).plain
    and CATALOGUE[o.algorithm].run_under(setting_of(o).options, {}) is not r
]
"""The offers whose printed text runs: what it leaves open has other values in some."""


@pytest.mark.parametrize("offer", OPEN, ids=lambda o: f"{o.algorithm}-{o.level}-{o.reading}-{o.options}")
def test_both_forms_answer_alike_beyond_the_small_cases(offer: Offer) -> None:
    """Epochs and a warm-up, which no box has, among them, and stabilisers of 0."""
    setting = setting_of(replace(offer, dtypes=("float64",)))
    for s in drawn(far_scenarios(setting, "numbers"), 3, seed=5):
        printed_one = answers(s)
        assert answers(s, "general") == printed_one


ROWS: list[tuple[str, Level]] = [(a.id, level) for a in CATALOGUE.values() if a.run.plain for level in a.levels]


@cache
def cases(algorithm: str, level: Level) -> tuple[Scenario, ...]:
    """Some rich cases of the canonical reading."""
    offers = (o for o in SUBJECT.info.offers if (o.algorithm, o.level, o.rates) == (algorithm, level, "one"))
    offer = next(o for o in offers if o.reading == CATALOGUE[algorithm].readings[0].name)
    return tuple(samples_of(setting_of(replace(offer, dtypes=("float64",))))[:3])


def printed(m: Mutant, algorithm: str, level: Level) -> Iterator[Scenario]:
    """The cases in which a mutant runs in the printed text."""
    yield from (s for s in cases(algorithm, level) if mutants.edit_in(m, s.case)[1])


def played(m: Mutant, s: Scenario) -> str:
    """All that it answers, to the last bit, and what it raises."""
    out: list[Any] = []
    try:
        session = mutants.Mutated(m).start(s.case)
        for event in s.events:
            out.append(session.step(event))
    except Exception as e:
        out.append(repr(e))
    return repr(out)


def in_general(m: Mutant, s: Scenario, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same in the form with options."""
    with monkeypatch.context() as patch:
        patch.setattr(mutated, "edit_in", lambda m, case: (m, False))
        return played(m, s)


def of(algorithm: str) -> list[Mutant]:
    """The mutants of an algorithm."""
    return [m for m in mutants.MUTANTS.values() if algorithm in m.algorithms and not m.rates]


@pytest.mark.parametrize(("algorithm", "level"), ROWS)
def test_an_edit_of_the_printed_text_does_what_it_does_in_the_form_with_options(
    algorithm: str, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    for m in of(algorithm):
        for s in [*printed(m, algorithm, level)][:1]:
            assert played(m, s) == in_general(m, s, monkeypatch), m.id


@pytest.mark.night
def test_many_mutants_edit_what_is_printed() -> None:
    found: set[str] = set()
    for a, level in ROWS:
        found |= {m.id for m in of(a) if any(printed(m, a, level))}
        if len(found) > 140:
            return
    raise AssertionError(f"{len(found)} edit what is printed")


@pytest.mark.parametrize("name", sorted(mutated.IN_GENERAL))
def test_who_is_left_in_the_form_with_options_would_be_another_mistake(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = replace(mutants.find(name), id="tried")
    rows = [(a, level) for a, level in ROWS if a in m.algorithms]
    tried = [s for a, level in rows for s in printed(m, a, level)]
    assert tried and any(played(m, s) != in_general(m, s, monkeypatch) for s in tried)
