"""Cases that laws with one strategy share: each is drawn once, and every law sees the case that it would have drawn
itself."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, Event
from fedspec.reference import SUBJECT
from fedspec_suite.judge import runner
from fedspec_suite.judge.case_search import Drawn, Trial, once, search
from fedspec_suite.measure import bench, setting
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.seeded_draws import draw_cases, not_local
from fedspec_suite.measure.setting import SETTINGS, setting_of
from fedspec_suite.measure.verdict import Deviates, Deviation, Status, Undecided

CASES = st.lists(st.integers(0, 1000), min_size=3, max_size=3).map(np.array)
EXAMPLES = 30


def noted(refuses: Callable[[int, Any], Exception | None], seen: list[tuple[int, ...]]) -> Trial:
    """A trial that notes its cases, and raises what is said of the number of a case and the case."""

    def trial(case: Any) -> None:
        seen.append(tuple(map(int, case)))
        if raised := refuses(len(seen), case):
            # A case is the law's own: what one law writes into it no other law sees.
            case[:] = -1
            raise raised
        case[:] = -1

    return trial


def outcome(drawn: Drawn, refuses: Callable[[int, Any], Exception | None]) -> Any:
    """The cases that a trial saw, and what the search raised."""
    seen: list[tuple[int, ...]] = []
    try:
        once(drawn, "key", partial(search, CASES, EXAMPLES, 3), noted(refuses, seen))
    except Deviates as broken:
        return seen, str(broken.deviation)
    return seen, ""


def passes(number: int, case: Any) -> None:
    return None


def large(number: int, case: Any) -> Exception | None:
    return Deviates(Deviation("x.step", "", note=str(case))) if case.sum() > 1500 else None


def odd(number: int, case: Any) -> Exception | None:
    return Undecided("odd") if case[0] % 2 else None


def either(number: int, case: Any) -> Exception | None:
    return odd(number, case) or large(number, case)


@pytest.mark.parametrize("first", [passes, odd])
@pytest.mark.parametrize("refuses", [passes, large, odd, either])
def test_a_law_sees_the_same_cases_whether_they_were_drawn_before_or_not(first: Any, refuses: Any) -> None:
    """Cases that were undecided are kept as such."""
    drawn: Drawn = {}
    alone = outcome({}, refuses)
    assert len(outcome(drawn, first)[0]) == len(drawn["key"]) >= EXAMPLES
    assert any(undecided for _, undecided in drawn["key"]) is (first is odd)
    assert outcome(drawn, refuses) == alone
    assert bool(alone[1]) is (refuses in {large, either})


def test_what_a_law_failed_is_not_kept() -> None:
    """Draws after a case that fails depend on it."""
    drawn: Drawn = {}
    outcome(drawn, large)
    assert not drawn


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Note the searches."""
    searched: list[Any] = []
    monkeypatch.setattr(runner, "search", lambda *given: searched.append(given) or search(*given))
    bench.shared_of.cache_clear()
    return searched


def test_laws_with_one_strategy_draw_once_for_all_subjects(monkeypatch: pytest.MonkeyPatch) -> None:
    searched, offer = counted(monkeypatch), SUBJECT.info.offers[0]
    asked = partial(runner.judge_offer, offer=replace(offer, dtypes=("float64",)), cases=5)
    first = asked(InProcess(SUBJECT), law="follows-x,repeats,isolated,dtype,inputs")
    assert len(searched) == 2 and all(o.status is Status.PASS and o.cases >= 5 for o in first)
    asked(InProcess(SUBJECT), law="repeats,far-numbers")
    asked(InProcess(SUBJECT), law="far-numbers,isolated")
    assert len(searched) == 3
    assert not [o for o in asked(InProcess(SUBJECT), law="repeats", seed=1) if o.status is not Status.PASS]
    assert len(searched) == 4


def test_two_usual_cases_at_once_are_searched_and_shrunk_if_they_disturb_each_other() -> None:
    offer = replace(SUBJECT.info.offers[0], dtypes=("float64",))
    _, o = runner.judge_offer(InProcess(Together()), offer, law="repeats,isolated", cases=8)
    assert (o.law, o.status) == ("isolated", Status.FAIL)
    assert o.cases > 8 and len(o.case[1].events) == 1


def test_a_property_of_the_specification_is_asked_as_often_in_every_type() -> None:
    offer = next(o for o in SUBJECT.info.offers if o.level == "server" and len(o.dtypes) == 2)
    for profile, cases in (("quick", [12, 12, 12, 12]), ("full", [60, 60, 60, 60])):
        found = runner.judge_offer(InProcess(SUBJECT), offer, profile=profile, law="client-order,repeats")
        assert sorted((o.cases for o in found), reverse=True) == cases


class Together:
    """The specification, which answers twice the model while two sessions are open that took a step."""

    info = SUBJECT.info

    def __init__(self) -> None:
        self.open: set[int] = set()

    def start(self, case: Case) -> Any:
        return Disturbed(self, SUBJECT.start(case))


class Disturbed:
    def __init__(self, subject: Together, session: Any) -> None:
        self.subject, self.session = subject, session

    def step(self, event: Event) -> Any:
        self.subject.open.add(id(self))
        answer = self.session.step(event)
        return {**answer, "x": answer["x"] * len(self.subject.open)}

    def __del__(self) -> None:
        self.subject.open.discard(id(self))


def test_what_is_known_of_settings_is_bounded() -> None:
    settings = [setting_of(o) for o in SUBJECT.info.offers[: SETTINGS + 2]]
    known = [*map(bench.shared_of, settings)]
    assert bench.shared_of(setting_of(SUBJECT.info.offers[3])) is known[3]
    assert bench.shared_of(settings[0]) is not known[0]
    assert setting_of(replace(SUBJECT.info.offers[3])) is settings[3]
    assert setting_of(SUBJECT.info.offers[3], "float32") is not settings[3]
    assert setting_of(SUBJECT.info.offers[0]) is not settings[0]
    assert len(setting._settings) == SETTINGS


def test_a_row_that_another_file_brings_has_settings_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    offer = SUBJECT.info.offers[3]
    before = setting_of(offer)
    monkeypatch.setitem(CATALOGUE, offer.algorithm, replace(before.algorithm, title="another"))
    assert setting_of(offer) is not before and setting_of(offer).algorithm.title == "another"


def test_no_case_has_a_number_of_somebodys_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that a clone, a wheel and a tree with one more number would have other cases of the same seed."""
    own = [0.5 + i / 1021 for i in range(1, 201)]
    (tmp_path / "somebodys.py").write_text(f"RATES = {own}\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("somebodys")
    rates = st.floats(0, 2)

    def searched() -> set[float]:
        seen: list[float] = []
        search(rates, 300, 0, seen.append)
        return set(seen)

    def theirs() -> set[float]:
        seen: list[float] = []

        @hypothesis.seed(0)
        @hypothesis.settings(database=None, max_examples=300)
        @hypothesis.given(rates)
        def every(rate: float) -> None:
            seen.append(rate)

        every()
        return set(seen)

    assert theirs() & set(own)
    assert not searched() & set(own)
    assert not set(draw_cases(rates, 300, 0)) & set(own)
    assert theirs() & set(own)


def test_searches_within_searches_and_beside_them_draw_no_local_number_until_the_last_has_ended() -> None:
    kept = providers._get_local_constants
    with not_local():
        with not_local():
            pass
        assert providers._get_local_constants is not kept
    assert providers._get_local_constants is kept
