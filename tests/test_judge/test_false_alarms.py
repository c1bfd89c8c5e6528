"""Who is right is not found wrong: the specification where its numbers cancel, and a sample of ``make soak``."""

from __future__ import annotations

import numpy as np
import pytest

from fedspec.contract import Blocks, ClientMessage, Gradient, Level, Messages, Offer
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.laws import LAWS
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Status, Undecided

FOLLOWS = [law for law in LAWS.values() if law.reads_rule and law.id != "follows-tie"]
"""Those that take any scenario: a tie is one of its own."""


def offers(*levels: Level) -> list[Offer]:
    """Those of the specification at some levels."""
    return [o for o in SUBJECT.info.offers if o.level in levels]


def name(offer: Offer) -> str:
    """As a test's id."""
    return "-".join((offer.algorithm, offer.level, offer.reading, *offer.options.values()))


def cancelling(s: Scenario, level: Level, controls: bool) -> Scenario:
    """Changes whose mean is zero, by weights that are not exact in binary; gradients that are zero after others."""
    dtype = s.case.dtype
    if level == "client":
        zero = Gradient({"w": np.array([0.0, -2.0], dtype=dtype)})
        return Scenario(s.case, (zero, *s.events, zero))
    three = [[-1.5, 0.0], [1.0, -0.625], [-0.125, 0.25]], (1, 2, 4)
    two = [[2.75, 1.0], [-0.6875, -0.25]], (1, 4)
    rounds = tuple(
        Messages(tuple(sent(i, {"w": np.array(c, dtype=dtype)}, w, controls) for i, (c, w) in enumerate(each)))
        for each in (zip(*three, strict=True), zip(*two, strict=True))
    )
    return Scenario(s.case, (*rounds, *s.events, *rounds))


def sent(client: int, delta: Blocks, weight: int, controls: bool) -> ClientMessage:
    """Two steps of SGD; the change of the control variate, where there is one, cancels like that of the model."""
    return ClientMessage(client, delta, weight, 2, 2, delta if controls else None)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("offer", offers("server", "client"), ids=name)
def test_what_cancels_is_not_found_wrong(offer: Offer, dtype: str) -> None:
    setting = setting_of(offer, dtype)
    bench = bench_of(Inside(SUBJECT), offer, setting)
    s, decided = cancelling(plain_scenario(setting), offer.level, setting.controls), 0
    for law in FOLLOWS:
        if not law.why_not(setting, offer.intermediates, concurrent=True):
            try:
                law.check(bench, s)
                decided += 1
            except Undecided:
                pass
    assert decided


@pytest.mark.slow
@pytest.mark.parametrize("number", range(0, len(SUBJECT.info.offers), 74))
def test_a_sample_of_the_soak_is_clean(number: int) -> None:
    offer = SUBJECT.info.offers[number]
    obligations = judge_offer(Inside(SUBJECT), offer, cases=4, seed=number + 1)
    assert not [o for o in obligations if o.status not in {Status.PASS, Status.SKIP}]


def test_zero_changes_of_uneven_clients_do_not_fail_afga() -> None:
    offer = next(o for o in offers("server") if name(o) == "fedamsgrad-server-afga-examples")
    obligations = judge_offer(Inside(SUBJECT), offer, profile="full", law="follows-v")
    assert [o.status for o in obligations] == [Status.PASS, Status.PASS]
