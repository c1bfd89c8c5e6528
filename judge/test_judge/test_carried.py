"""Errors that are carried from round to round: they decide long runs, and nobody who rounds is beyond them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import setting_at

from fedspec.arith import Array, digits
from fedspec.catalogue import CATALOGUE
from fedspec.reference import SUBJECT
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.bench import HOPELESS, THRESHOLD, Shown, bench_of, reference
from fedspec_suite.measure.carried_error import CarriedError, carried
from fedspec_suite.measure.far_cases import far_scenarios
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.running_error import RUNNING, Running, bounds_of
from fedspec_suite.measure.scenario import Scenario, posed, problem_of, with_hyper
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Undecided

ROWS = [(name, level) for name, a in CATALOGUE.items() for level in ("round", "trace") if level in a.levels]


def long_run(algorithm: str, level: str) -> Scenario:
    """The longest of the first large cases with many rounds in which something is decided."""
    drawn = draw_cases(far_scenarios(setting_at(algorithm, level), "rounds"), 6, 0)
    return max((s for s in drawn if decided(reference(s)[0]["x"], s.case.dtype)), key=lambda s: len(s.events))


def careless(dtype: str, seed: str) -> Mapping[str, type[Running]]:
    """Arithmetic that moves each result by the threshold times its rounding: up, down, or either by lot."""
    draw, how = Random(seed), seed.partition(" ")[0]

    class Careless(carried(dtype)[dtype]):  # type: ignore[misc]
        __slots__ = ()

        def _rounded(self, value: Decimal, inherited: float, nonnegative: bool = False) -> Running:
            sign = {"up": 1, "down": -1}.get(how) or draw.choice((-1, 1))
            moved: Running = super()._rounded(value, inherited, nonnegative)
            if value != 1:
                # A share of the whole may not be more.
                moved.value += sign * Decimal(THRESHOLD * self.resolution * moved.size)
            return moved

        def __le__(self, other: Any) -> bool:
            # Rules choose by other operations. Shares of careless numbers don't sum to 1 as nearly as those of floats.
            return bool(self.value <= self._of(other).value + Decimal("1e-9"))

    return {dtype: Careless}


def decided(numbers: Array, dtype: str) -> bool:
    """True if the judge compares a vector within its bounds."""
    size = max(abs(float(x)) for x in numbers)
    return bool(THRESHOLD * np.finfo(dtype).eps * bounds_of(numbers).max() <= HOPELESS * size)


def farthest(got: list[Shown], want: list[Shown], dtype: str) -> tuple[float, int]:
    """The largest error in units of the bound, and the last event in which the model decides something."""
    eps, worst, last = float(np.finfo(dtype).eps), 0.0, 0
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        for name, numbers in other.items():
            if not decided(numbers, dtype):
                continue
            last = k + 1 if name == "x" else last
            off = [abs(float(a.value - b.value)) for a, b in zip(one[name], numbers, strict=True)]
            worst = max(worst, float(np.max(np.array(off) / (eps * bounds_of(numbers) + np.finfo(dtype).tiny))))
    return worst, last


@pytest.mark.table(10)
@pytest.mark.parametrize("seed", ["up", "lot"])
@pytest.mark.parametrize(("algorithm", "level"), ROWS)
def test_a_careless_run_stays_within_them_to_the_end(algorithm: str, level: str, seed: str) -> None:
    s = long_run(algorithm, level)
    with digits():
        got = reference(s, numbers=careless(s.case.dtype, seed))
        worst, last = farthest(got, reference(s, numbers=carried(s.case.dtype)), s.case.dtype)
    assert worst <= THRESHOLD * (1 + 1e-9) and last == len(s.events)


@pytest.mark.parametrize("algorithm", ["scaffold", "mifa", "fedavg", "slowmo"])
def test_they_take_over_where_sizes_decide_nothing(algorithm: str) -> None:
    s = long_run(algorithm, "round")
    plain = farthest(by_sizes := reference(s, numbers={**RUNNING}), by_sizes, s.case.dtype)[1]
    want = reference(s)
    assert plain < len(s.events) == farthest(want, want, s.case.dtype)[1]
    assert all(type(x) is RUNNING[s.case.dtype] for shown in want for v in shown.values() for x in v)


def number() -> type[CarriedError]:
    """Arithmetic of a run of its own."""
    return carried("float64")["float64"]


def later(kind: type[CarriedError], x: Any) -> Any:
    """A number once its round is over."""
    kind.clock.round += 1
    return x


def test_what_cancels_is_gone_in_a_later_round_and_not_in_the_same() -> None:
    with digits():
        kind = number()
        third = kind(1) / 3
        assert (third - third).bound == pytest.approx(2 / 3, rel=1e-4)
        later(kind, third)
        assert (third - third).bound == pytest.approx(0, abs=1e-5)
        assert (third + third).bound == pytest.approx(4 / 3, rel=1e-4)
        assert (third - third * 1).bound == pytest.approx(1 / 3, rel=1e-4)


def test_inputs_are_uncertain_anew_wherever_they_are_used() -> None:
    kind = number()
    rate = later(kind, kind(Decimal("0.1"), 0.1))
    assert (rate - rate).bound == pytest.approx(0.2)


def test_where_rounding_may_choose_nothing_is_carried() -> None:
    with digits():
        kind = number()
        x, y = kind(1) / 3, 1 - kind(2) / 3
        later(kind, x)
        # Either of the two may be the larger.
        assert (x.maximum(y) - x).bound >= y.bound
        clear = later(kind, kind(5) / 3)
        assert (clear.maximum(x) - clear).bound == pytest.approx(0, abs=1e-5)
        nothing = later(kind, x - (kind(1) / 3))
        # The size of what may be below zero is off by the opposite.
        assert (abs(nothing) - nothing).bound >= 1.9 * nothing.bound


def test_roots_are_carried_by_their_slope_unless_their_bound_is_better() -> None:
    with digits():
        kind = number()
        third = later(kind, kind(1) / 3)
        root = third.sqrt()
        # Three roundings of the square, and none of what 1 / 3 was off by.
        assert (root * root - third).bound == pytest.approx(1, rel=1e-4)
        assert (root * root - third).terms == pytest.approx([0], abs=1e-9)
        square = kind(Decimal("1e-20")) * 1
        square.bound = square.own = 1e-3
        square.nonnegative = True
        steep = later(kind, square).sqrt()
        assert steep.own >= 0 and (steep - steep).bound >= steep.bound


def test_a_singular_value_carries_nothing() -> None:
    with digits():
        kind = number()
        x, y = kind(1) / 3, kind(1) / 7
        later(kind, None)
        found = x.largest_singular([[x, y], [y, x]])
        assert (found - x).bound >= found.bound


def test_a_step_that_is_divided_by_zero_and_held_back_decides_nothing() -> None:
    """The specification refuses it in floats; in a model that is held back it shows nothing of it."""
    offers = (o for o in SUBJECT.info.offers if (o.algorithm, o.level) == ("fedada2", "round"))
    offer = next(o for o in offers if o.options.get("warm_up_from") == "zero")
    setting = setting_of(offer)
    s = with_hyper(plain_scenario(setting), eps=0.0, v0_l=0.0)
    rests = posed(s, x0={n: a * 0 for n, a in s.case.x0.items()}, e=problem_of(s).e * 0)
    begins = replace(rests, events=(replace(rests.events[0], steps=(1,) * len(rests.events[0].participants)),))
    asked = bench_of(InProcess(SUBJECT), offer, setting)
    assert decided(asked.expect(begins)[0]["x"] + 1, "float64")
    with pytest.raises(Undecided, match="eps is 0"):
        asked.check_defined(begins)
