"""Failures that the tests of capsules share, found without judging: the first case of a law that a mutant breaks."""

from __future__ import annotations

from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings

from fedspec.contract import Offer
from fedspec_suite.judge.capsules.made import Made, capsule
from fedspec_suite.laws import Law, every
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Deviates, Obligation, Status, Undecided
from fedspec_suite.mutants import Mutated, find


class Held:
    def __init__(self, case: Any) -> None:
        self.case = case


def drawn(law: Law, offer: Offer, dtype: str, count: int = 2) -> list[Any]:
    """Some cases of a law; the first is the simplest."""
    got: list[Any] = []

    @hypothesis.seed(1)
    @settings(
        max_examples=count,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        deadline=None,
    )
    @hypothesis.given(law.cases(setting_of(offer, dtype)).map(Held))
    def take(held: Held) -> None:
        got.append(held.case)

    take()
    return got


def failed(subject: Inside, offer: Offer, law: str) -> Obligation:
    """A failure of the first case that fails."""
    setting = setting_of(offer)
    for case in drawn(every()[law], offer, setting.dtype, 20):
        try:
            every()[law].check(bench_of(subject, offer, setting), case)
        except Undecided:
            continue
        except Deviates as broken:
            reads = every()[law].reads_rule
            more: dict[str, Any] = {"deviation": broken.deviation, "case": case, "reads": reads}
            return Obligation(law, setting.dtype, Status.FAIL, (), **more)
    raise AssertionError(f"{law} holds")


def of_mutant(name: str, law: str, algorithm: str) -> tuple[Inside, Offer, Made]:
    """What a mutant fails."""
    subject = Inside(Mutated(find(name)))
    number = next(k for k, o in enumerate(subject.info.offers) if o.algorithm == algorithm)
    offer = subject.info.offers[number]
    made = capsule("py:x.py:it", subject, number, subject.info.offers, [failed(subject, offer, law)])
    assert made is not None
    return subject, offer, made
