"""Schedule of a learning rate that a claim does not say: the factor of each round or step, solved for from the models.

In each event of a long case, one factor of the rate must lead to the subject's whole model. If the same factors appear
in several cases, they are a schedule, and a shape of ``fedspec.schedules`` that gives them all names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Begin
from fedspec.schedules import FACTORS, SHAPES, Clock, Every, Schedules, read, schedule_of, timed
from fedspec_suite.diagnosis.defects.defect import Defect
from fedspec_suite.diagnosis.defects.schedules import told
from fedspec_suite.diagnosis.variants import CANNOT, Variant, equation_of, of_own, session_with
from fedspec_suite.diagnosis.written.plays import REFUSED, Play, generic_cases, of_parameters
from fedspec_suite.diagnosis.written.weights import SLACK, near
from fedspec_suite.measure.bench import Bench, of_models
from fedspec_suite.measure.reaching import flat_model
from fedspec_suite.measure.setting import Setting

RATES = ("eta", "eta_l")
"""Hyper-parameters that a schedule changes."""

EVENTS, CASES = 24, 3
"""Number of events of each case, and number of cases that must agree."""

PERIODS = range(2, 201)
"""Periods that are tried."""


def scheduled(setting: Setting, rated: Iterable[tuple[str, Array]]) -> Iterator[Variant]:
    """The claimed rule with the subject's schedule of one rate, for each shape that gives its ``factors``."""
    claimed = read(setting.schedules)
    for name, s in rated:
        for words in shapes_of(s, setting.level):
            schedule = schedule_of(words)
            yield _variant(setting, name, words, {**claimed, name: (schedule.every, schedule.factor)})


POWERS = (0.5, 0.9, 2.0, 3.0)
"""Powers of polynomial schedules that are tried."""


def observed(bench: Bench, setting: Setting) -> str:
    """The factors of a rate that no shape gives, as numbers; empty if no factors lead to the models."""
    for name, s in factors(bench, setting):
        unit = "steps" if setting.level == "client" else "rounds"
        return f"{name} is multiplied by {', '.join(f'{v:.4g}' for v in s[:5])} in {unit} 1 to 5"
    return ""


def factors(bench: Bench, setting: Setting) -> Iterator[tuple[str, Array]]:
    """Yield each rate with its factor in each event, if several cases have the same and these are not all 1."""
    plays = long_plays(bench, setting)
    for name in RATES if plays else ():
        try:
            found = [np.array([*_of_case(play, name)]) for play in plays] if name in setting.numbers else []
        except CANNOT:
            continue
        alike = found and found[0].any() and all(len(s) == len(found[0]) and near(s, found[0]).all() for s in found)
        if alike and not near(found[0], np.ones(len(found[0]))).all():
            yield name, found[0]


def long_plays(bench: Bench, setting: Setting) -> list[Play]:
    """Return the subject's models in a few long cases; none if it refuses one."""
    few = {"steps": (EVENTS, EVENTS), "rounds": (1, 1)} if setting.level == "client" else {"rounds": (EVENTS, EVENTS)}
    models = of_models(bench)
    try:
        cases = generic_cases(setting, **few)[:CASES]
        return [play for s in cases for play in of_parameters(Play(s, models.play(s)))]
    except REFUSED:
        return []


def _of_case(play: Play, name: str) -> Iterator[float]:
    """The factor of the rate in each event of a case.

    Raises:
        KeyError: no factor leads to the model.
    """
    case = replace(play.s.case, schedules={})
    session: Any = session_with(case, {})
    for event, answer in zip(play.s.events, play.answers, strict=True):
        if isinstance(event, Begin):
            session.step(event)
            continue
        before = {**vars(session)}

        def taken(by: float, event: Any = event, before: Any = before) -> Array:
            vars(session).update(before)
            now, _ = timed(event, Clock(), case.hyper, {name: (Every.ROUND, lambda t: by)})
            return flat_model(session.step(now))

        # The step of every rule is linear in its rate.
        want, whole = np.asarray(answer["x"], float), taken(1)
        slope = 2 * (whole - taken(0.5))
        with np.errstate(all="ignore"):
            by = 1 + (want - whole) @ slope / (slope @ slope)
        by = 0.0 if abs(by) < SLACK else by
        if not (by >= 0 and near(taken(by), want).all()):
            raise KeyError(f"no {name} leads to the model")
        yield float(by)


def shapes_of(s: Array, level: str) -> Iterator[str]:
    """Schedules, in the words of a claim, that give some factors."""
    for shape, names in SHAPES.items():
        for numbers in _numbers(names, s) if shape != "table" else ():
            made = np.array([FACTORS[shape](t, *numbers) for t in range(len(s))])
            if np.allclose(made, s, rtol=SLACK, atol=SLACK**2):
                said = "".join(f" {n}={v:.10g}" for n, v in zip(names, numbers, strict=True))
                for every in (Every.STEP, Every.STEP_OF_ROUND) if level == "client" else (Every.ROUND,):
                    yield f"{shape}/{every}{said}"
                break


def _numbers(names: Sequence[str], s: Array) -> Iterator[tuple[float, ...]]:
    """Numbers that a shape may have: each period with each factor or floor that the values of a schedule show."""
    shown = {float(f"{v:.6g}") for v in (*s, *(s[1:][s[:-1] > 0] / s[:-1][s[:-1] > 0])) if 0 < v < 1} | {0.1, 0.01}
    # A step of period 1 is exponential.
    periods = [*map(float, PERIODS), *([1.0] if [*names] == ["period"] else [])]
    pools = {"period": periods, "floor": [0.0, *sorted(shown)], "power": POWERS}
    yield from product(*(pools.get(n, sorted(shown)) for n in names))


def _variant(setting: Setting, name: str, words: str, schedules: Schedules) -> Variant:
    """The claimed rule under other schedules."""
    yours = f'{name} has the schedule "{words}"'
    wanted = (
        f'{name} has the schedule "{setting.schedules[name]}"' if name in setting.schedules else f"{name} is constant"
    )
    names = ({"yours": yours, "wanted": wanted, "schedules": json.dumps({**setting.schedules, name: words})},)
    d = Defect(words="", given=partial(told, schedules=schedules), about=name)
    return of_own(setting, yours, wanted, equation_of(setting, "step"), defects=(d,), names=names)
