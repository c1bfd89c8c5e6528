"""Laws ``far-*``: the subject agrees with the rule on the large cases of ``measure.far_cases``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from fedspec.contract import LEVELS, Begin
from fedspec_suite.laws.buffers import follow
from fedspec_suite.laws.follows_rule import SHOWN
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench, of_models
from fedspec_suite.measure.far_cases import Side, far_scenarios
from fedspec_suite.measure.far_shrinking import simplest
from fedspec_suite.measure.input_ranges import beyond
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, describe
from fedspec_suite.measure.verdict import Deviates, Undecided


def everything(bench: Bench, s: Scenario) -> None:
    """Compare every vector of every answer, and its buffers if the offer claims readings of buffers.

    Vectors that rounding may have spoilt, late in a long run, decide nothing.

    Raises:
        Deviates: one is another.
        Undecided: not one vector could be compared.
    """
    want, far, reason = bench.decided(s), 0, Undecided("nothing is shown")
    try:
        answers = bench.play(s, covers=False)
        for k, got in enumerate(answers):
            if isinstance(s.events[k], Begin):
                continue
            for name in SHOWN:
                if name not in got or name not in want[k]:
                    continue
                try:
                    bench.compare(name, got[name], want[k][name], f"{describe(s.events[k])} {k + 1}")
                    far = k + 1
                except Undecided as undecided:
                    reason = undecided
            if not np.isfinite(bounds_of(want[k]["x"])).all():
                # Where the rule itself divides zero by zero, whatever comes of it goes on from there.
                break
    except Deviates:
        far = len(s.events)
        raise
    finally:
        if far:
            # A verdict covers the events that were compared, not those that rounding left open.
            bench.cover(replace(s, events=s.events[:far]))
    if s.case.buffers is not None:
        follow(bench, s, answers)
    elif not far:
        raise reason


def _deviation(play: Callable[[Scenario], None], s: Scenario) -> Deviates | None:
    """The deviation that a case shows, if it shows one."""
    try:
        play(s)
    except Deviates as broken:
        return broken
    except Undecided:
        pass
    return None


def _simplified(bench: Bench, s: Scenario, broken: Deviates) -> Deviates:
    """The deviation in the simplest case found, with what the case takes.

    A case in which the model is wrong too is kept as one. Who deviates in a case with nothing unusual is not looked at
    again from another side, unless only that one shows that the model is wrong.
    """
    play, models = partial(everything, bench), partial(everything, of_models(bench))
    wrong = broken if broken.deviation.shown in {"", "x"} else _deviation(models, s)
    for of_model in (True, wrong is not None):
        if of_model in bench.plainly:
            return bench.plainly[of_model]
    least, broken = simplest(s, wrong or broken, models if wrong else play, bench.offer.fixed)
    # In the order of its rule: what is kept beside the model may be wrong first.
    broken = _deviation(play, least) or broken
    unusual = beyond(least)
    note = "; ".join(filter(None, (broken.deviation.note, f"in a case with {unusual}" if unusual else "")))
    broken = Deviates(replace(broken.deviation, note=note), least)
    if not unusual:
        bench.plainly[wrong is not None] = broken
    return broken


_SIDES: dict[Side, str] = {
    "numbers": "with full mantissas, from 1e-6 to 1e6, hyper-parameters at the edges of their domains, and near, "
    "unlike, equal or small numbers where the rule subtracts, chooses or divides",
    "coordinates": "in models of up to a thousand coordinates, in blocks of up to four axes",
    "rounds": "over up to fifty rounds, steps or arrivals, from which most clients are absent",
    "clients": "with up to fifty clients",
}

LAWS = tuple(
    Law(
        id=f"far-{side}",
        words=f"the returned quantities equal the rule's, {words}",
        levels=LEVELS,
        source="the rule itself",
        cases=partial(far_scenarios, side=side),
        check=everything,
        reads_rule=True,
        costs=1 if side == "numbers" else 4,
        simplify=_simplified,
    )
    for side, words in _SIDES.items()
)
