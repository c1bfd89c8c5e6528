"""What becomes of a deviation is said where it is plain: gone, of one size, or growing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_judge.subjects.moved import Moved

from fedspec.contract import SubjectInfo
from fedspec.reference import SUBJECT
from fedspec_suite.diagnosis.cases.samples import samples_of
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.diagnosis.seen.course import GROWS, ONCE, STAYS, course
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import Setting, setting_of

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

LEVELS = ["server", "round", "client", "trace"]
OFFERS = [
    next(o for o in SUBJECT.info.offers if o.level == level and o.algorithm == name)
    for level, name in (("server", "fedavgm"), ("round", "fedavg"), ("client", "momentum"), ("trace", "fedasync"))
]


KINDS: dict[str, tuple[Callable[[int], float], str]] = {
    "right": (lambda k: 0.0, ""),
    "one event": (lambda k: float(k == 2), ONCE),
    "from the third on": (lambda k: float(k >= 2), STAYS),
    "at once": (lambda k: -0.5, STAYS),
    "drifts": (lambda k: 0.25 * k, GROWS),
    "doubles": (lambda k: 2.0 ** (k - 4), GROWS),
    "to and fro": (lambda k: 1.0 + k % 2, ""),
    "fades": (lambda k: 2.0**-k, ""),
    "now and then": (lambda k: float(k % 2), ""),
    "too late to tell": (lambda k: float(k >= 8), ""),
}


@pytest.mark.parametrize(("moved", "words"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(("offer", "setting"), zip(OFFERS, map(setting_of, OFFERS), strict=True), ids=LEVELS)
def test_its_course_is_told(offer: Any, setting: Setting, moved: Callable[[int], float], words: str) -> None:
    bench = bench_of(Inside(Moved(SubjectInfo("wrong", "1", (offer,)), lambda k, x: x + moved(k))), offer, setting)
    assert course(bench, samples_of(setting)) == words


def test_it_is_part_of_what_is_seen() -> None:
    (offer, *_) = OFFERS
    setting = setting_of(offer)
    bench = bench_of(
        Inside(Moved(SubjectInfo("wrong", "1", (offer,)), lambda k, x: x + 0.3 * (k + 1) ** 1.5)), offer, setting
    )
    assert GROWS in identify(bench, setting).seen.split("; ")
