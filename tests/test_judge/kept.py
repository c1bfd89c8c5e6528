"""Failures that the tests of capsules share, found without judging: the first case of a law that a mutant breaks."""

from __future__ import annotations

from typing import Any

from fedspec.contract import Offer
from fedspec_suite.judge.capsules.made import Made, capsule
from fedspec_suite.laws import every
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.drawn import drawn
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Deviates, Obligation, Status, Undecided
from fedspec_suite.mutants import Mutated, find


def failed(subject: Inside, offer: Offer, law: str) -> Obligation:
    """A failure of the first case that fails."""
    setting = setting_of(offer)
    for case in drawn(every()[law].cases(setting), 20, seed=1):
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
