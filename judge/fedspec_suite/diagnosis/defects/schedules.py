"""Schedules that are another one: shifted, counted in another unit, of another shape, applied twice or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from fedspec.schedules import SHAPES, Every, Factor, Schedule, schedule_of
from fedspec_suite.diagnosis.defects.defect import Defect
from fedspec_suite.measure.scheduled_cases import told
from fedspec_suite.measure.setting import Setting


def _compounded(factor: Factor) -> Factor:
    """The product of all factors so far, which a rate has that is multiplied in place."""

    def product(t: int) -> float:
        out = 1.0
        for k in range(t + 1):
            out *= factor(k)
        return out

    return product


def _others(name: str, right: Schedule, level: str) -> Iterator[tuple[str, Every, Factor]]:
    """Words for other schedules, in what they count, and their factors."""
    every, s, counted = right.every, right.factor, right.every.replace("-", " ")
    yield f"{name} has no schedule", every, lambda t: 1.0
    yield f"the schedule of {name} starts one {counted} late", every, lambda t: s(max(t - 1, 0))
    yield f"the schedule of {name} starts one {counted} early", every, lambda t: s(t + 1)
    for other in Every if level == "client" else ():
        if other != every:
            words = "starts again in every round" if other is Every.STEP_OF_ROUND else f"moves once a {other}"
            yield f"the schedule of {name} {words}, not once a {counted}", other, s
    yield f"{name} is multiplied by its schedule's factor again and again", every, _compounded(s)
    for shape, (names, make) in SHAPES.items():
        if shape != right.shape and names == SHAPES[right.shape][0]:
            yield f"the schedule of {name} is {shape}, not {right.shape}", every, make(*right.numbers)
    if "period" in SHAPES[right.shape][0]:
        period, *more = right.numbers
        for by in (-1, 1):
            if period + by >= 1:
                words = f"the period of the schedule of {name} is {period + by:g}, not {period:g}"
                yield words, every, replace(right, numbers=(period + by, *more)).factor


def of(setting: Setting) -> Iterator[Defect]:
    """Yield each other schedule of one rate, with those of the other rates as claimed."""
    claimed = {name: schedule_of(said) for name, said in setting.schedules.items()}
    for name, right in claimed.items():
        for words, every, factor in _others(name, right, setting.level):
            schedules = {n: (r.every, r.factor) for n, r in claimed.items()} | {name: (every, factor)}
            yield Defect(words=words, given=partial(told, schedules=schedules), about=name)
