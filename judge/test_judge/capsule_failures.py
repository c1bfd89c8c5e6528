"""Failures that the tests of capsules share, found without judging: the first case of a law that a mutant breaks."""

from __future__ import annotations

from typing import Any

from fedspec.contract import Offer
from fedspec_suite.judge.capsules.writer import CapsuleFiles, capsule
from fedspec_suite.laws import all_laws
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Deviates, Obligation, Status, Undecided
from fedspec_suite.mutants import Mutated, find


def failed(subject: InProcess, offer: Offer, law: str) -> Obligation:
    """A failure of the first case that fails."""
    setting = setting_of(offer)
    for case in draw_cases(all_laws()[law].cases(setting), 20, seed=1):
        try:
            all_laws()[law].check(bench_of(subject, offer, setting), case)
        except Undecided:
            continue
        except Deviates as broken:
            reads = all_laws()[law].reads_rule
            more: dict[str, Any] = {"deviation": broken.deviation, "case": case, "reads": reads}
            return Obligation(law, setting.dtype, Status.FAIL, (), **more)
    raise AssertionError(f"{law} holds")


def of_mutant(name: str, law: str, algorithm: str) -> tuple[InProcess, Offer, CapsuleFiles]:
    """Subject, offer and capsule of a law that a mutant fails."""
    subject = InProcess(Mutated(find(name)))
    number = next(k for k, o in enumerate(subject.info.offers) if o.algorithm == algorithm)
    offer = subject.info.offers[number]
    made = capsule("py:x.py:it", subject, number, subject.info.offers, [failed(subject, offer, law)])
    assert made is not None
    return subject, offer, made
