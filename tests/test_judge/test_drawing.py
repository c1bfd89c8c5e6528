"""Cases that laws with one strategy share: each is drawn once, and every law sees the case that it would have drawn
itself."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from fedspec.reference import SUBJECT
from fedspec_suite.judge import case_search, runner
from fedspec_suite.judge.case_search import Trial, once, search
from fedspec_suite.laws import LAWS
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.seeded_draws import draw_cases, not_local
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Deviates, Deviation, Undecided

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


def outcome(drawn: dict[Hashable, list[bytes]], refuses: Callable[[int, Any], Exception | None]) -> Any:
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


@pytest.mark.parametrize("refuses", [passes, large, odd])
def test_a_law_sees_the_same_cases_whether_they_were_drawn_before_or_not(refuses: Any) -> None:
    drawn: dict[Hashable, list[bytes]] = {}
    alone = outcome({}, refuses)
    assert len(outcome(drawn, passes)[0]) == EXAMPLES == len(drawn["key"])
    assert outcome(drawn, refuses) == alone
    assert bool(alone[1]) is (refuses is large)


@pytest.mark.parametrize("refuses", [large, odd])
def test_what_a_law_did_not_pass_is_not_kept(refuses: Any) -> None:
    """Draws after a case that is not passed depend on it."""
    drawn: dict[Hashable, list[bytes]] = {}
    outcome(drawn, refuses)
    assert not drawn


def test_laws_with_one_strategy_draw_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[Any] = []
    monkeypatch.setattr(runner, "search", lambda *given: searched.append(given) or search(*given))
    offer = SUBJECT.info.offers[0]
    setting = setting_of(offer)
    bench = bench_of(InProcess(SUBJECT), offer, setting)
    laws = [LAWS[law] for law in ("repeats", "dtype", "inputs")]
    assert {law.cases for law in laws} <= case_search.shared()
    asked = [runner.run_law(law, bench, setting, 5, 0) for law in laws]
    assert len(searched) == 1 and [o.cases for o in asked] == [5, 5, 5]


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
