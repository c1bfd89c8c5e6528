"""Two runs of one subject are compared within the rounding of both, however different that is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedspec.contract import ClientMessage, Messages
from fedspec.reference import SUBJECT
from fedspec_suite.laws.relations import related
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.cases import case
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Deviates

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
