"""Capsules out of verdicts: what failed is asked once more, with everything that is said written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec.contract import Offer, Subject
from fedspec.errors import ContractError, FedspecError
from fedspec_suite.judge.capsules.recorded import Recorded, of_the_law, off_the_rule
from fedspec_suite.judge.capsules.script import script
from fedspec_suite.judge.capsules.stored import Failure, body, failure_as_data, stem
from fedspec_suite.judge.runner import first
from fedspec_suite.laws import law_named
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Beyond, Deviates, Deviation, NotOffered, Obligation, Undecided


@dataclass(frozen=True)
class Made:
    """What is to be written for an offer.

    Attributes:
        stem: what its files are called.
        body: the capsule.
        script: the script beside it.
        why_not: why there is none.
    """

    stem: str
    body: dict[str, Any]
    script: str
    why_not: str


def capsule(
    implementation: str,
    subject: Subject,
    number: int,
    among: Sequence[Offer],
    obligations: Sequence[Obligation],
) -> Made | None:
    """The failures of an offer, those to look at first in front; none where nothing failed.

    What a script plays is a number that the rule itself does not give, where there is one: what a law wants may come
    from another answer of the subject.
    """
    offer, failures, wrong = among[number], [], []
    for k, o in enumerate(first(obligations)):
        record, bench, found = _asked(subject, offer, o)
        try:
            failures.append(failure_as_data(Failure(o.law, o.dtype, o.deviation, o.case, tuple(record.calls))))
        except ContractError:
            # Its case holds what no capsule can: the failure is told, and cannot be played.
            failures.append(failure_as_data(Failure(o.law, o.dtype, o.deviation)))
            continue
        for shown in (off_the_rule(bench, record), of_the_law(bench, record, found)):
            if shown is not None:
                wrong.append((shown.law, k, shown, o))
    if not failures:
        return None
    text, why_not = "", "no single number shows what is wrong"
    if wrong:
        _, k, shown, o = min(wrong, key=lambda w: w[:2])
        text, why_not = script(implementation, o.id, o.dtype, k, shown)
    name = stem(implementation, subject.info, offer, among, number)
    return Made(name, body(implementation, subject.info, offer, failures), text, why_not)


def _asked(subject: Subject, offer: Offer, o: Obligation) -> tuple[Recorded, Bench, Deviation | None]:
    """Ask a case once more; how it deviates now."""
    record = Recorded(subject, offer)
    bench = bench_of(record, offer, setting_of(offer, "" if o.dtype == "any" else o.dtype))
    law = law_named(o.law)
    if law and o.case is not None:
        with np.errstate(invalid="ignore", over="ignore"):
            try:
                law.check(bench, o.case)
            except Deviates as broken:
                return record, bench, broken.deviation
            except (Beyond, NotOffered, Undecided, FedspecError):
                pass
    return record, bench, None
