"""Two runs of one subject are compared within the rounding of both, however different that is."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fedspec.contract import Case, ClientMessage, Event, Messages, SubjectInfo
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.laws.relations import related
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.cases import case
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Deviates, Status

OFFER = replace(
    next(o for o in SUBJECT.info.offers if (o.algorithm, o.level) == ("fedavg", "server")), dtypes=("float32",)
)
LARGE = 5001.0


def scenario(setting: Setting, large: float, *deltas: float) -> Scenario:
    """One round of clients with 3 and 4 examples: one coordinate is large, and the other what is asked for."""
    sent = tuple(
        ClientMessage(i, {"w": np.array([large, delta], dtype="float32")}, n, 1, 1)
        for i, (n, delta) in enumerate(zip((3, 4), deltas, strict=True))
    )
    return Scenario(case(setting, {"w": np.zeros(2, dtype="float32")}, {"eta": 1.0}), (Messages(sent),))


def pair() -> tuple[Bench, Scenario, Scenario]:
    """Changes that cancel but for 1, which floats of their size blur, and that 1 alone, which nothing blurs."""
    setting = setting_of(OFFER, "float32")
    bench = bench_of(Inside(SUBJECT), OFFER, setting)
    return bench, scenario(setting, LARGE, 4 * LARGE + 1, -3 * LARGE + 1), scenario(setting, LARGE, 1.0, 1.0)


def test_the_run_that_is_rounded_more_may_be_either() -> None:
    """The large run is off by more than the small one's bounds allow, whichever is the first; it is right."""
    bench, large, small = pair()
    off = abs(float(bench.play(large)[0]["x"][1]) - float(bench.play(small)[0]["x"][1]))
    of_small = float(bounds_of(bench.expect(small)[0]["x"])[1])
    assert off > 30 * float(np.finfo("float32").eps) * (2 * of_small + 2)
    related(bench, large, small, lambda k, x: x)
    related(bench, small, large, lambda k, x: x)


def test_a_bound_is_carried_with_the_model() -> None:
    """What a map makes larger may be off by so much more; it is not by a shift."""
    bench, large, small = pair()
    louder = scenario(setting_of(OFFER, "float32"), 64 * LARGE, 64.0, 64.0)
    related(bench, large, louder, lambda k, x: 64 * x)
    with pytest.raises(Deviates):
        related(bench, small, large, lambda k, x: x + 1)


def test_what_every_client_keeps_is_said_to_be_shown_by_who_takes_part() -> None:
    """Beside somebody who never takes part it is more numbers; it is not x that is another."""

    class ForAll:
        def __init__(self, case: Case) -> None:
            self.right: Any = SUBJECT.start(case)
            self.everybody = 0 if case.problem is None else len(case.problem.H)

        def step(self, event: Event) -> dict[str, Any]:
            answer = dict(self.right.step(event))
            return {**answer, "tau_eff": np.resize(answer["tau_eff"], self.everybody)}

    shown = next(o for o in SUBJECT.info.offers if (o.algorithm, o.level) == ("fednova", "round"))
    subject = Inside(SimpleNamespace(info=SubjectInfo("for all", "1", (shown,)), start=ForAll))
    (failed, *_) = judge_offer(subject, shown, profile="quick", law="bystander")
    assert failed.status is Status.FAIL and failed.deviation is not None
    assert failed.deviation.shown == "tau_eff" and "show a row for each participant" in failed.deviation.note
